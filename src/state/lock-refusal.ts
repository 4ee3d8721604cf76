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

/** The owner of a lock without content: the run died, or the power failed, while it took the lock. */
export const INTERRUPTED_OWNER: LockOwner = { ...UNREADABLE_OWNER, who: 'interrupted' };

export function lockedBy({ owner, life, doubt }: LockHolder, where: string): ProxwrightError {
  const uncertain = life === 'unknown' && doubt !== undefined && ` Whether it still runs cannot be checked: ${doubt}.`;
  return new ProxwrightError({
    code: 'STATE_LOCKED',
    where: { file: where },
    detail: `${describeLock(owner)}${uncertain || ''}`,
    hint: advice`Wait until that run has ended. If you are sure that it is dead, run: ${command('state unlock')}`,
  });
}

/** A lock may be removed if its run is dead, or if the caller names exactly that run. */
export function assertMayUnlock(holder: LockHolder, evenOf: LockOwner | undefined, where: string): void {
  const { owner, life } = holder;
  if (life !== 'dead' && !isDeepStrictEqual(evenOf, owner)) throw lockedBy(holder, where);
}

export function describeLock(owner: LockOwner): string {
  const { runId, who, command: name, host, since, pid } = owner;
  if (isDeepStrictEqual(owner, INTERRUPTED_OWNER))
    return 'A run died while it took the lock, before it wrote its name.';
  if (runId === '') return 'There is a lock, but it cannot be read, so its owner is not known.';
  return host === ''
    ? `${who} has held the lock ${runId} since ${since}${name === '' ? '' : `, for "${name}"`}.`
    : `${who} has been running "${name}" on ${host} since ${since} (process ${pid}).`;
}
