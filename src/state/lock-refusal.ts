/** The error for a second run on the same stack, the same for every store. */
import { isDeepStrictEqual } from 'node:util';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { LockHolder, LockOwner } from './store.ts';

/** The owner of a lock that cannot be read. */
export const UNREADABLE_OWNER: LockOwner = {
  runId: '',
  who: 'unknown',
  host: '',
  pid: 0,
  since: '',
  command: '',
};

export function lockedBy(owner: LockOwner, where: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_LOCKED',
    where: { file: where },
    detail: describeLock(owner),
    hint: advice`Wait until that run has ended. If you are sure that it is dead, run: ${command('state unlock')}`,
  });
}

/** A lock may be removed if its run is dead, or if the caller names exactly that run. */
export function assertMayUnlock({ owner, life }: LockHolder, evenOf: LockOwner | undefined, where: string): void {
  if (life !== 'dead' && !isDeepStrictEqual(evenOf, owner)) throw lockedBy(owner, where);
}

export function describeLock({ runId, who, command, host, since, pid }: LockOwner): string {
  return runId === ''
    ? 'There is a lock, but it cannot be read, so its owner is not known.'
    : `${who} has been running "${command}" on ${host} since ${since} (process ${pid}).`;
}
