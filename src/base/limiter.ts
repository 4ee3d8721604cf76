/** Runs at most `limit` functions at once, in the order of the calls. Client, engine and readiness all use it. */
import { canceledBy, throwIfCanceled } from './clock.ts';

export class Limiter {
  readonly #waiting: Array<() => void> = [];
  #free: number;

  constructor(limit: number) {
    this.#free = Math.max(1, limit);
  }

  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(signal?: AbortSignal): Promise<void> | undefined {
    throwIfCanceled(signal);
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1);
        reject(canceledBy(signal));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(admit);
    });
  }

  /** Passes the slot directly to the next waiter, so that a new caller cannot take it first. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
