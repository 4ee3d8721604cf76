/**
 * Spreads the status polls of all tasks that one client waits for, so that a hundred tasks ask no more of the server than
 * a few do. The task that waited longest is polled first.
 */
import type { Clock, Instant } from '../../base/clock.ts';
import { Limiter } from '../../base/limiter.ts';

export interface PollLimits {
  readonly inFlight: number;
  readonly perSecond: number;
}

export const DEFAULT_POLL_LIMITS: PollLimits = { inFlight: 4, perSecond: 20 };

export class PollLimiter {
  readonly #clock: Clock;
  readonly #limiter: Limiter;
  readonly #spacingMs: number;
  #nextStart: Instant = 0;

  constructor(clock: Clock, limits: PollLimits = DEFAULT_POLL_LIMITS) {
    this.#clock = clock;
    this.#limiter = new Limiter(limits.inFlight);
    this.#spacingMs = Math.ceil(1000 / limits.perSecond);
  }

  poll<T>(question: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#limiter.run(async () => {
      const now = this.#clock.now();
      const start = Math.max(now, this.#nextStart);
      this.#nextStart = start + this.#spacingMs;
      if (start > now) await this.#clock.sleep(start - now, signal);
      return question();
    }, signal);
  }
}
