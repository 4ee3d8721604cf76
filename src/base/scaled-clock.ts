/** A clock that runs faster (or slower) than another one: what a real server uses to let hours of work pass in minutes. */
import type { Clock } from './clock.ts';

/** The longest wait a timer of the platform can hold; longer ones are done in pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Starts at the time of `clock` and from then on runs `speed` times as fast. */
export function scaledClock(clock: Clock, speed: number): Clock {
  const start = clock.now();
  const now = () => Math.floor(start + (clock.now() - start) * speed);
  return {
    now,
    sleep: async (ms, signal) => {
      const due = now() + ms;
      // Timers may fire a little early, and a little is much once it is multiplied: look again before going on.
      do {
        const realMs = Math.ceil(Math.max(0, due - now()) / speed);
        await clock.sleep(Math.min(realMs, LONGEST_TIMER_MS), signal);
      } while (now() < due);
    },
  };
}
