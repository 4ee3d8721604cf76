/** The refusal of a second run, the same for every store. */
import { isDeepStrictEqual } from 'node:util';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { LockHolder, LockOwner } from './store.ts';

/** Stands for whoever holds a lock that cannot be read. */
export const UNREADABLE_OWNER: LockOwner = {
  runId: '',
  who: 'somebody',
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
    hint: advice`Wait until that run has ended. If you are sure that it no longer lives: ${command('state unlock')}`,
  });
}

/** A lock is taken away from a dead run, and from one that may live only where just that one is named. */
export function assertMayUnlock({ owner, life }: LockHolder, evenOf: LockOwner | undefined, where: string): void {
  if (life !== 'dead' && !isDeepStrictEqual(evenOf, owner)) throw lockedBy(owner, where);
}

export function describeLock({ runId, who, command, host, since, pid }: LockOwner): string {
  return runId === ''
    ? 'There is a lock, but it cannot be read: nobody can say whose it is.'
    : `${who} has been running "${command}" on ${host} since ${since} (process ${pid}).`;
}
