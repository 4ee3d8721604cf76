/**
 * Time. Everything that needs "now" or a pause uses a `Clock`, so that tests control time. There are two readings: the
 * time of day, which an administrator or NTP can set during a run, and ticks, which only count up.
 */
import { canceled, isCanceled, type ProxwrightError } from './errors.ts';

/** Milliseconds since the Unix epoch. */
export type Instant = number;

/** Milliseconds since an arbitrary moment. Only the difference of two readings of one process means something. */
export type Ticks = number;

export interface Clock {
  /** The time of day, for stamps that people and later runs read. It may jump. */
  now(): Instant;
  /** Never jumps. Every wait, deadline, budget and duration counts these. */
  ticks(): Ticks;
  /** Resolves after `ms`; rejects with `Canceled` as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The real clock. Only this file uses `setTimeout`, `Date` and `performance`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  ticks: () => Math.floor(performance.now()),
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

/** How often a scaled clock reads the time while something waits, and the most that counts between two readings. */
const BEAT_MS = 10;
const LONGEST_STEP_MS = 40;

/**
 * Starts at the time of `clock` and runs `speed` times as fast, so that hours of simulated work take minutes. While something
 * waits, the time that this process gets no processor does not count: multiplied by `speed`, a pause of a busy machine would
 * exceed time limits of work that had no chance to end.
 */
export function scaledClock(clock: Clock, speed: number): Clock {
  const start = clock.now();
  let lastLook = clock.ticks();
  let counted = 0;
  let waiting = 0;
  let isBeating = false;
  const ticks = () => {
    const look = clock.ticks();
    counted += waiting > 0 && speed > 1 ? Math.min(look - lastLook, LONGEST_STEP_MS) : look - lastLook;
    lastLook = look;
    return Math.floor(counted * speed);
  };
  const beat = async () => {
    if (isBeating || speed <= 1) return;
    isBeating = true;
    while (waiting > 0) {
      await clock.sleep(BEAT_MS);
      ticks();
    }
    isBeating = false;
  };
  return {
    now: () => start + ticks(),
    ticks,
    sleep: async (ms, signal) => {
      const due = ticks() + ms;
      waiting++;
      try {
        // Timers may fire slightly early, and `speed` multiplies the error: check again before returning.
        do {
          const realMs = Math.ceil(Math.max(0, due - ticks()) / speed);
          const waited = clock.sleep(Math.min(realMs, LONGEST_TIMER_MS), signal);
          if (realMs > BEAT_MS) void beat();
          await waited;
        } while (ticks() < due);
      } finally {
        ticks();
        waiting--;
      }
    },
  };
}

/**
 * The time of day at the call, advanced by ticks. For the timestamps of one run: their differences stay correct even if
 * the time of day is set during the run.
 */
export function steadyTime(clock: Clock): () => Instant {
  const offset = clock.now() - clock.ticks();
  return () => offset + clock.ticks();
}
