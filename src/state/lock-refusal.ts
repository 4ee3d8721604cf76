/** The refusal of a second run, the same for every store. */
import { StateError } from '../base/errors.ts';
import type { LockOwner } from './store.ts';

export function lockedBy(owner: LockOwner, where: string): StateError {
  return new StateError({
    code: 'STATE_LOCKED',
    where: { file: where },
    detail: `${owner.who} has been running "${owner.command}" on ${owner.host} since ${owner.since} (process ${owner.pid}).`,
    hint: 'Wait until that run has ended. If you are sure that it no longer lives: proxwright state unlock',
  });
}
