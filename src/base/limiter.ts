/** Runs at most `limit` functions at once, in the order of the calls. Client, engine and readiness all use it. */
import { canceledBy, throwIfCanceled } from './clock.ts';

interface Waiter {
  readonly limit: number;
  readonly admit: () => void;
}

export class Limiter {
  readonly #waiting: Waiter[] = [];
  readonly #limit: number;
  #active = 0;

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  /** `atMost`: instead of the limit, for a caller that allows fewer or more concurrent ones. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal, atMost = this.#limit): Promise<T> {
    await this.#enter(Math.max(1, atMost), signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Starts immediately, however many are running; the others wait as if it had been admitted. */
  async runAtOnce<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    throwIfCanceled(signal);
    const leave = this.occupy();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Counts as one more running function, however many are running, until the returned function is called. */
  occupy(): () => void {
    this.#active++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#leave();
    };
  }

  #enter(limit: number, signal?: AbortSignal): Promise<void> | undefined {
    throwIfCanceled(signal);
    if (this.#waiting.length === 0 && this.#active < limit) {
      this.#active++;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        limit,
        admit: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        // The others may have waited for this one.
        this.#admitNext();
        reject(canceledBy(signal));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #leave(): void {
    this.#active--;
    this.#admitNext();
  }

  /** Passes a slot directly to the next waiter, so that a new caller cannot take it first. */
  #admitNext(): void {
    for (let next = this.#waiting[0]; next && this.#active < next.limit; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#active++;
      next.admit();
    }
  }
}
