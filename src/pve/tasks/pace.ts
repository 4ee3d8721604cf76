/**
 * When to poll a running task next. A poll that finds the task still running is wasted, and a late one costs the user time,
 * so the aim is to poll when the task should be done: judged by its progress, else by how long the last task of this type
 * took on this node, else by how long such tasks usually take. A task that is over at its first poll may have been over long
 * before, so the next one like it is polled sooner.
 */
import type { Clock, Ticks } from '../../base/clock.ts';
import { parseUpid, type Upid } from '../wire/ids.ts';

/** No two polls of a task are closer than this. */
const SHORTEST_PAUSE_MS = 250;
/** While nothing is known about the end of a task, or it is late. */
const LONGEST_PAUSE_MS = 2_000;
const GROWTH = 1.4;
/** Progress that is shown should not be much older than this, however far the end is. */
const NEWS_SHARE = 0.5;
const SHORTEST_NEWS_MS = 2_000;
const LONGEST_NEWS_MS = 15_000;
/** The end of a copy that began late, estimated from one report, is a guess: trusted only if it is this near. */
const NEAR_MS = 3_000;
/** What follows the copy that reports its progress: small disks, the configuration, the lock. */
const TAIL_SHARE = 0.018;
const LONGEST_TAIL_MS = 1_000;
/** Between two looks at a sign that many waits share: it is cheap, and the end is noticed sooner. */
const SIGN_SHARE = 0.03;
const SHORTEST_SIGN_PAUSE_MS = 500;

/** Between the last sign that a task runs and its end: not worth a poll that may find it running. */
const CLOSE_SHARE = 0.25;

/** How long a task of a type usually takes at least; other types are polled soon. */
const USUAL_MS: Readonly<Record<string, number>> = { qmclone: 1_000, qmstart: 1_000 };
/** Takes as long on every host. A clone may copy much, or nothing. */
const LEAST_MS: Readonly<Record<string, number>> = { qmstart: 1_000 };
/** Tasks whose duration depends on the guest in their UPID: a clone copies the disks of its template. */
const TYPES_BY_GUEST: ReadonlySet<string> = new Set(['qmclone', 'qmrestore']);

interface ExpectedDuration {
  readonly ms: number;
  /** From a task like this one; otherwise it is what such tasks take at least. */
  readonly isLearned: boolean;
}

/** From the start of a wait. */
export interface SeenDuration {
  /** When the task was found to be over. */
  readonly overMs: number;
  /** When it was last seen running. */
  readonly runningMs?: number | undefined;
}

interface Learned {
  readonly expectedMs: number;
  /** A task like this one was seen running after this time. */
  readonly runningMs: number;
}

/** How long the last task of each type took on each node. Shared by all waits of a client. */
export class TaskDurations {
  readonly #learned = new Map<string, Learned>();

  expected(upid: Upid, givenMs?: number): ExpectedDuration | undefined {
    const learned = this.#learned.get(likeness(upid));
    if (learned) return { ms: learned.expectedMs, isLearned: true };
    const usualMs = givenMs ?? USUAL_MS[parseUpid(upid)?.type ?? ''];
    return usualMs === undefined ? undefined : { ms: usualMs, isLearned: false };
  }

  ended(upid: Upid, seen: SeenDuration): void {
    const runningMs = this.#learned.get(likeness(upid))?.runningMs ?? LEAST_MS[parseUpid(upid)?.type ?? ''] ?? 0;
    this.#learned.set(likeness(upid), learnedFrom(seen, Math.min(runningMs, seen.overMs)));
  }
}

function learnedFrom({ overMs, runningMs }: SeenDuration, runningBeforeMs: number): Learned {
  if (runningMs !== undefined) return { expectedMs: overMs, runningMs };
  const isClose = overMs - runningBeforeMs <= Math.max(SHORTEST_PAUSE_MS, CLOSE_SHARE * overMs);
  const expectedMs = isClose ? overMs : Math.round((runningBeforeMs + overMs) / 2);
  return { expectedMs, runningMs: runningBeforeMs };
}

/** The same for tasks that should take equally long. */
function likeness(upid: Upid): string {
  const { node, type, id } = parseUpid(upid) ?? { node: '', type: '', id: '' };
  return [node, type, TYPES_BY_GUEST.has(type) ? id : ''].join(' ');
}

export class TaskPace {
  readonly #clock: Clock;
  readonly #startedAt: Ticks;
  #expectedEnd: Ticks | undefined;
  #isFounded: boolean;
  #expectsEnd = false;
  #lastPauseMs: number | undefined;
  #lastFraction = 0;
  #isLate = false;
  /** The first report of a copy that did not begin with the task: from then on its speed counts, not the time before. */
  #lateCopy: { readonly at: Ticks; readonly fraction: number } | undefined;
  #isGuess = false;

  constructor(clock: Clock, expected: ExpectedDuration | undefined) {
    this.#clock = clock;
    this.#startedAt = clock.ticks();
    this.#isFounded = expected?.isLearned ?? false;
    if (expected) this.#expectedEnd = this.#startedAt + expected.ms;
  }

  /** Whether the last pause led to the time at which the task should have ended. */
  get expectsEnd(): boolean {
    return this.#expectsEnd;
  }

  /** It did nothing for a while: a copy did not begin with the task. */
  waited(): void {
    this.#isLate = true;
  }

  /**
   * The progress of the task itself counts more than the durations of others. The copy of a further disk begins late,
   * too.
   */
  progressed(fraction: number): void {
    const now = this.#clock.ticks();
    if (fraction <= 0 || (this.#lateCopy && fraction === this.#lastFraction)) return;
    const isFirst = fraction < this.#lastFraction || (this.#isLate && !this.#lateCopy);
    this.#lastFraction = fraction;
    this.#isFounded = true;
    this.#isGuess = isFirst;
    const since = this.#lateCopy;
    if (isFirst) this.#lateCopy = { at: now, fraction };
    const beganAt =
      since && !isFirst ? now - (fraction * (now - since.at)) / (fraction - since.fraction) : this.#startedAt;
    const copyMs = Math.ceil((now - beganAt) / fraction);
    this.#expectedEnd = beganAt + copyMs + Math.min(LONGEST_TAIL_MS, Math.ceil(TAIL_SHARE * copyMs));
  }

  /** Until the next look at a sign that the task may be over. */
  nextSignPauseMs(): number {
    const elapsedMs = this.#clock.ticks() - this.#startedAt;
    return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_SIGN_PAUSE_MS, Math.round(SIGN_SHARE * elapsedMs)));
  }

  nextPauseMs(): number {
    const aheadMs = this.#expectedEnd === undefined ? 0 : Math.ceil(this.#expectedEnd - this.#clock.ticks());
    if (aheadMs > 0) {
      this.#lastPauseMs = undefined;
      const newsMs = this.#newsMs();
      // A poll shortly before the end would say little.
      const isLast = aheadMs < 1.5 * newsMs;
      this.#expectsEnd = isLast && this.#isFounded;
      return Math.max(SHORTEST_PAUSE_MS, isLast ? aheadMs : newsMs);
    }
    this.#expectsEnd = false;
    this.#lastPauseMs = Math.min(
      LONGEST_PAUSE_MS,
      Math.round((this.#lastPauseMs ?? SHORTEST_PAUSE_MS / GROWTH) * GROWTH),
    );
    return this.#lastPauseMs;
  }

  #newsMs(): number {
    const end = this.#expectedEnd ?? 0;
    const now = this.#clock.ticks();
    // Twice as late at most, however wrong the guess is.
    if (this.#isGuess && end - now > NEAR_MS)
      return Math.max(SHORTEST_NEWS_MS, Math.min(LONGEST_NEWS_MS, now - this.#startedAt));
    return Math.min(LONGEST_NEWS_MS, Math.max(SHORTEST_NEWS_MS, Math.ceil(NEWS_SHARE * (end - this.#startedAt))));
  }
}
