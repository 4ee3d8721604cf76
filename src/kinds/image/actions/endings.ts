/** What an error says about work of ours at the server: whether anything of it may still go on. */
import { isFamily } from '../../../base/errors.ts';
import { isOutcomeUnknown } from '../../../pve/index.ts';
import { isTaskLost, isTaskUnended } from '../../vm/actions/tasks.ts';

/** The server has said its last word: nothing of ours is at work any more. */
export function isOver(error: unknown): boolean {
  if (isOutcomeUnknown(error) || isTaskUnended(error)) return false;
  return isFamily(error, 'file', 'api', 'auth', 'task');
}

/** A task has ended badly, or nobody knows how: what came of it shows in the storage. */
export function hasEnded(error: unknown): boolean {
  return isOver(error) || isTaskLost(error);
}
