/**
 * When to poll a running task next. A poll that finds the task still running is wasted, and a late one costs the user time,
 * so the aim is to poll when the task should be done: judged by its progress, else by how long the last task of this type
 * took on this node, else by how long such tasks usually take.
 */
import type { Clock, Ticks } from '../../base/clock.ts';
import { parseUpid, type Upid } from '../wire/ids.ts';

/** No two polls of a task are closer than this. */
const SHORTEST_PAUSE_MS = 250;
/** While nothing is known about the end of a task, or it is late. */
const LONGEST_PAUSE_MS = 2_000;
const GROWTH = 1.4;
/** Progress that is shown should not be much older than this, however far the end is. */
const NEWS_SHARE = 0.25;
const SHORTEST_NEWS_MS = 2_000;
const LONGEST_NEWS_MS = 10_000;

/** How long a task of a type usually takes at least; other types are polled soon. */
const USUAL_MS: Readonly<Record<string, number>> = { qmclone: 1_000, qmstart: 800 };
/** Tasks whose duration depends on the guest in their UPID: a clone copies the disks of its template. */
const TYPES_BY_GUEST: ReadonlySet<string> = new Set(['qmclone', 'qmrestore']);

/** How long the last task of each type took on each node. Shared by all waits of a client. */
export class TaskDurations {
  readonly #lastMs = new Map<string, number>();

  expectedMs(upid: Upid): number | undefined {
    return this.#lastMs.get(likeness(upid)) ?? USUAL_MS[parseUpid(upid)?.type ?? ''];
  }

  ended(upid: Upid, tookMs: number): void {
    this.#lastMs.set(likeness(upid), tookMs);
  }
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
  #lastPauseMs: number | undefined;

  constructor(clock: Clock, expectedMs: number | undefined) {
    this.#clock = clock;
    this.#startedAt = clock.ticks();
    if (expectedMs !== undefined) this.#expectedEnd = this.#startedAt + expectedMs;
  }

  /** What the task reports about itself counts more than what others took. */
  progressed(fraction: number): void {
    const now = this.#clock.ticks();
    if (fraction > 0) this.#expectedEnd = this.#startedAt + Math.ceil((now - this.#startedAt) / fraction);
  }

  nextPauseMs(): number {
    const aheadMs = this.#expectedEnd === undefined ? 0 : Math.ceil(this.#expectedEnd - this.#clock.ticks());
    if (aheadMs > 0) {
      this.#lastPauseMs = undefined;
      const newsMs = this.#newsMs();
      // A poll shortly before the end would tell little.
      return Math.max(SHORTEST_PAUSE_MS, aheadMs < 1.5 * newsMs ? aheadMs : newsMs);
    }
    this.#lastPauseMs = Math.min(
      LONGEST_PAUSE_MS,
      Math.round((this.#lastPauseMs ?? SHORTEST_PAUSE_MS / GROWTH) * GROWTH),
    );
    return this.#lastPauseMs;
  }

  #newsMs(): number {
    const wholeMs = (this.#expectedEnd ?? 0) - this.#startedAt;
    return Math.min(LONGEST_NEWS_MS, Math.max(SHORTEST_NEWS_MS, Math.ceil(NEWS_SHARE * wholeMs)));
  }
}
