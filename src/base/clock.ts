/** The first door: time. Whoever needs "now" or a pause asks a `Clock`, so that tests can own time. */
import { canceled, isCanceled, type ProxwrightError } from './errors.ts';

/** Milliseconds since the Unix epoch. */
export type Instant = number;

export interface Clock {
  now(): Instant;
  /** Resolves after `ms`; rejects with `Canceled` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The real clock. `setTimeout` and `Date` appear here and nowhere else. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(canceledBy(signal));
      const onAbort = () => {
        clearTimeout(timer);
        reject(canceledBy(signal));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

/** The error a wait ends with when its signal fires; a `Canceled` given as reason is passed on as it is. */
export function canceledBy(signal?: AbortSignal): ProxwrightError {
  const reason: unknown = signal?.reason;
  return isCanceled(reason) ? reason : canceled(undefined, reason);
}

export function throwIfCanceled(signal?: AbortSignal): void {
  if (signal?.aborted) throw canceledBy(signal);
}

/** Stops waiting for shared work when the signal fires, and leaves the work to those who still wait for it. */
export function orCanceled<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(canceledBy(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
