/**
 * When each wait begins. Sequential: one VM at a time, in a fixed order, each after the previous wait has ended,
 * successfully or not, while creations continue. Parallel: all at once.
 */
import type { Address } from '../../base/address.ts';
import { canceledBy, throwIfCanceled } from '../../base/clock.ts';
import { Limiter } from '../../base/limiter.ts';

export interface ReadinessSchedule {
  /** Begins `wait` when it is this VM's turn. */
  run<T>(address: Address, wait: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** This VM will not wait: it was not created, or nothing has to be ready. VMs behind it no longer wait for it. */
  skip(address: Address): void;
}

export function readinessSchedule(mode: 'sequential' | 'parallel', order: readonly Address[]): ReadinessSchedule {
  return mode === 'parallel' ? { run: (_, wait) => wait(), skip: () => {} } : sequential(order);
}

/** The same for VMs whose number is not known beforehand: one at a time, first come, first served. */
export function readinessByArrival(mode: 'sequential' | 'parallel'): ReadinessSchedule {
  const line = new Limiter(mode === 'parallel' ? Number.POSITIVE_INFINITY : 1);
  return { run: (_, wait, signal = new AbortController().signal) => line.run(wait, signal), skip: () => {} };
}

/** A VM that is not in `order` waits for no other VM. */
function sequential(order: readonly Address[]): ReadinessSchedule {
  const turns = order.map(() => new Turn());
  const places = new Map(order.map((address, place) => [address, place]));
  const turnOf = (address: Address) => turns[places.get(address) ?? -1];
  return {
    run: async (address, wait, signal) => {
      try {
        for (const earlier of turns.slice(0, places.get(address) ?? 0)) {
          // All of them, not just the last: a skipped one ends before those in front of it.
          if (!earlier.hasEnded) await earlier.ended(signal);
        }
        throwIfCanceled(signal);
        return await wait();
      } finally {
        turnOf(address)?.end();
      }
    },
    skip: (address) => turnOf(address)?.end(),
  };
}

class Turn {
  readonly #waiting = new Set<() => void>();
  hasEnded = false;

  end(): void {
    this.hasEnded = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  ended(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(canceledBy(signal));
      const onEnd = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(onEnd);
        reject(canceledBy(signal));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(onEnd);
    });
  }
}
