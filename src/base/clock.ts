/** Time. Everything that needs "now" or a pause uses a `Clock`, so that tests control time. */
import { canceled, isCanceled, type ProxwrightError } from './errors.ts';

/** Milliseconds since the Unix epoch. */
export type Instant = number;

export interface Clock {
  now(): Instant;
  /** Resolves after `ms`; rejects with `Canceled` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The real clock. Only this file uses `setTimeout` and `Date`. */
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

/** The error with which a wait ends when its signal fires; a `Canceled` as the reason is returned unchanged. */
export function canceledBy(signal?: AbortSignal): ProxwrightError {
  const reason: unknown = signal?.reason;
  return isCanceled(reason) ? reason : canceled(undefined, reason);
}

export function throwIfCanceled(signal?: AbortSignal): void {
  if (signal?.aborted) throw canceledBy(signal);
}

/** Stops waiting for shared work when the signal fires. The work continues for its other callers. */
export function orCanceled<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(canceledBy(signal));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** The longest possible timer; longer waits use several. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Starts at the time of `clock` and runs `speed` times as fast, so that hours of simulated work take minutes. */
export function scaledClock(clock: Clock, speed: number): Clock {
  const start = clock.now();
  const now = () => Math.floor(start + (clock.now() - start) * speed);
  return {
    now,
    sleep: async (ms, signal) => {
      const due = now() + ms;
      // Timers may fire slightly early, and `speed` multiplies the error: check again before returning.
      do {
        const realMs = Math.ceil(Math.max(0, due - now()) / speed);
        await clock.sleep(Math.min(realMs, LONGEST_TIMER_MS), signal);
      } while (now() < due);
    },
  };
}
