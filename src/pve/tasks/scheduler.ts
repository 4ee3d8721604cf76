/**
 * One for each client: spreads the status questions of all waiting tasks, so that a hundred of them ask no more of the
 * server than a few do. Who waited longest is served first.
 */
import type { Clock, Instant } from '../../base/clock.ts';
import { Gate } from '../http/gate.ts';

export interface TaskSchedulerLimits {
  readonly inFlight: number;
  readonly perSecond: number;
}

export const DEFAULT_POLL_LIMITS: TaskSchedulerLimits = { inFlight: 4, perSecond: 20 };

export class TaskScheduler {
  readonly #clock: Clock;
  readonly #gate: Gate;
  readonly #spacingMs: number;
  #nextStart: Instant = 0;

  constructor(clock: Clock, limits: TaskSchedulerLimits = DEFAULT_POLL_LIMITS) {
    this.#clock = clock;
    this.#gate = new Gate(limits.inFlight);
    this.#spacingMs = Math.ceil(1000 / limits.perSecond);
  }

  poll<T>(question: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#gate.run(async () => {
      const now = this.#clock.now();
      const start = Math.max(now, this.#nextStart);
      this.#nextStart = start + this.#spacingMs;
      if (start > now) await this.#clock.sleep(start - now, signal);
      return question();
    }, signal);
  }
}
