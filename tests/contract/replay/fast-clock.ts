/** Real time, faster: lets a scenario that waits for minutes pass over a real network in seconds. */
import { type Clock, systemClock } from '../../../src/base/clock.ts';

export function fastClock(speed: number, real: Clock = systemClock): Clock {
  const start = real.now();
  return {
    now: () => start + (real.now() - start) * speed,
    ticks: () => real.ticks() * speed,
    sleep: (ms, signal) => real.sleep(ms / speed, signal),
  };
}
