/** How often a rule strikes: counts its matches and says which of them it is. */
import type { Instant } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { FaultRule } from './rule.ts';

export class Schedule {
  readonly #rule: FaultRule;
  readonly #random: Random;
  #matches = 0;
  #strikes = 0;
  #nextAt: Instant | undefined;

  constructor(rule: FaultRule, random: Random) {
    this.#rule = rule;
    this.#random = random;
  }

  /** To be asked once per match. */
  strikes(now: Instant): boolean {
    this.#matches++;
    const isDue = this.#isDue(now) && this.#strikes < this.#most();
    if (isDue) this.#strikes++;
    return isDue;
  }

  #most(): number {
    return this.#rule.times ?? (this.#rule.at === undefined ? Number.POSITIVE_INFINITY : 1);
  }

  #isDue(now: Instant): boolean {
    const { at, every, every_ms: periodMs, probability } = this.#rule;
    if (at !== undefined) return this.#matches >= at;
    if (every !== undefined) return this.#matches % every === 0;
    if (probability !== undefined) return this.#random.next() < probability;
    if (periodMs !== undefined) {
      // Looked at when something happens, not by a timer: a timer that never ends would hide a stalled program.
      if (this.#nextAt !== undefined && now < this.#nextAt) return false;
      this.#nextAt = now + periodMs;
    }
    return true;
  }
}
