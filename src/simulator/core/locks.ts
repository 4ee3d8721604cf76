/**
 * Advisory locks with a bounded wait, as Proxmox uses them: flock on files of a node (shared or exclusive) and
 * cluster-wide directory locks (exclusive). This file tracks the holders; the caller knows the message of a timeout.
 */
import type { Clock } from '../../base/clock.ts';

export type LockMode = 'shared' | 'exclusive';
export type Release = () => void;

/** A lock that is held right now. */
export interface HeldLock {
  readonly name: string;
  readonly mode: LockMode;
  /** How many hold it; more than one only if it is shared. */
  readonly holders: number;
  readonly waiting: number;
}

interface Waiter {
  readonly mode: LockMode;
  readonly grant: () => void;
}

interface LockState {
  shared: number;
  exclusive: boolean;
  readonly waiters: Waiter[];
}

export class LockTable {
  readonly #clock: Clock;
  readonly #locks = new Map<string, LockState>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the lock is free right now. */
  isFree(name: string, mode: LockMode): boolean {
    const state = this.#locks.get(name);
    return !state || compatible(state, mode);
  }

  /** Every lock that is held, by name. */
  held(): HeldLock[] {
    return [...this.#locks]
      .map(([name, { shared, exclusive, waiters }]): HeldLock => {
        return {
          name,
          mode: exclusive ? 'exclusive' : 'shared',
          holders: exclusive ? 1 : shared,
          waiting: waiters.length,
        };
      })
      .filter(({ holders }) => holders > 0)
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Resolves with the release function, or with undefined when `waitMs` passed first. */
  async acquire(name: string, mode: LockMode, waitMs: number): Promise<Release | undefined> {
    const state = this.#locks.get(name) ?? { shared: 0, exclusive: false, waiters: [] };
    this.#locks.set(name, state);
    if (state.waiters.length === 0 && compatible(state, mode)) return this.#take(name, state, mode);

    const timer = new AbortController();
    let gaveUp = false;
    await new Promise<void>((resolve) => {
      const waiter: Waiter = { mode, grant: resolve };
      state.waiters.push(waiter);
      this.#clock.sleep(waitMs, timer.signal).then(
        () => {
          const position = state.waiters.indexOf(waiter);
          if (position >= 0) {
            state.waiters.splice(position, 1);
            gaveUp = true;
          }
          resolve();
        },
        () => {},
      );
    });
    timer.abort();
    return gaveUp ? undefined : this.#releaser(name, state, mode);
  }

  #take(name: string, state: LockState, mode: LockMode): Release {
    if (mode === 'shared') state.shared++;
    else state.exclusive = true;
    return this.#releaser(name, state, mode);
  }

  #releaser(name: string, state: LockState, mode: LockMode): Release {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      if (mode === 'shared') state.shared--;
      else state.exclusive = false;
      this.#grantWaiters(name, state);
    };
  }

  #grantWaiters(name: string, state: LockState): void {
    for (let next = state.waiters[0]; next && compatible(state, next.mode); next = state.waiters[0]) {
      state.waiters.shift();
      if (next.mode === 'shared') state.shared++;
      else state.exclusive = true;
      next.grant();
    }
    if (state.shared === 0 && !state.exclusive && state.waiters.length === 0) this.#locks.delete(name);
  }
}

function compatible(state: LockState, mode: LockMode): boolean {
  return mode === 'shared' ? !state.exclusive : !state.exclusive && state.shared === 0;
}
