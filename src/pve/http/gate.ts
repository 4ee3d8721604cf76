/** Lets a limited number of things happen at once; the others wait in the order in which they came. */
import { canceledBy, throwIfCanceled } from '../../base/clock.ts';

export class Gate {
  readonly #waiting: Array<() => void> = [];
  #free: number;

  constructor(limit: number) {
    this.#free = limit;
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

  /** The place goes straight to the next in line, so that a newcomer cannot slip in between. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
