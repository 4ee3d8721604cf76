/**
 * A clock that advances only when nothing else can run. All waits of a test use it, so that hours of polling take
 * milliseconds, always in the same order. A program that waits for something that never happens fails as "stalled" instead
 * of hanging.
 */
import { type Clock, canceledBy, type Instant, type Ticks } from './clock.ts';
import { ProxwrightError } from './errors.ts';

interface Timer {
  readonly due: Ticks;
  readonly order: number;
  readonly fire: () => void;
  /** Set when the wait was aborted: such a timer must not advance the time. */
  canceled: boolean;
}

/** An arbitrary but fixed start, so that times in test output are recognisable: 2026-01-01T00:00:00Z. */
export const VIRTUAL_START: Instant = Date.UTC(2026, 0, 1);

/** Ticks of a real machine count from an arbitrary moment, such as its boot: only differences mean anything. */
const FIRST_TICK: Ticks = 1_234_567;

export class VirtualClock implements Clock {
  readonly #timers = new TimerHeap();
  readonly #start: Instant;
  #ticks: Ticks = FIRST_TICK;
  #order = 0;
  /** Pending external waits, each without its result. */
  readonly #outside = new Set<Promise<unknown>>();

  constructor(start: Instant = VIRTUAL_START) {
    this.#start = start;
  }

  now(): Instant {
    return this.#start + this.#ticks - FIRST_TICK;
  }

  ticks(): Ticks {
    return this.#ticks;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(canceledBy(signal));
      const onAbort = () => {
        timer.canceled = true;
        reject(canceledBy(signal));
      };
      const timer: Timer = {
        due: this.#ticks + Math.max(0, ms),
        order: this.#order++,
        canceled: false,
        fire: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#timers.push(timer);
    });
  }

  /** Waits for something real, such as the answer of a server: the virtual time does not advance meanwhile. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    const working = work();
    const ended = working.catch(() => {});
    this.#outside.add(ended);
    try {
      return await working;
    } finally {
      this.#outside.delete(ended);
    }
  }

  /** Runs `work` to its end and advances the time whenever everything is waiting. The time stops afterwards. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    let outcome: { ok: true; value: T } | { ok: false; error: unknown } | undefined;
    work().then(
      (value) => {
        outcome = { ok: true, value };
      },
      (error: unknown) => {
        outcome = { ok: false, error };
      },
    );
    for (;;) {
      await everythingRunnable();
      if (outcome) break;
      if (this.#outside.size > 0) {
        await Promise.race(this.#outside);
        continue;
      }
      if (!this.#fireNext()) {
        throw new ProxwrightError({
          code: 'STALLED',
          detail: `Stalled at ${new Date(this.now()).toISOString()}: the work has not ended and no timer is left.`,
        });
      }
    }
    if (outcome.ok) return outcome.value;
    throw outcome.error;
  }

  /** Advances the time by `ms` and fires everything due in between. For tests without a main task. */
  async advance(ms: number): Promise<void> {
    const end = this.#ticks + ms;
    await everythingRunnable();
    for (let next = this.#nextTimer(); next && next.due <= end; next = this.#nextTimer()) {
      this.#fireNext();
      await everythingRunnable();
    }
    this.#ticks = end;
  }

  #nextTimer(): Timer | undefined {
    while (this.#timers.peek()?.canceled) this.#timers.pop();
    return this.#timers.peek();
  }

  #fireNext(): boolean {
    const timer = this.#nextTimer();
    if (!timer) return false;
    this.#timers.pop();
    this.#ticks = Math.max(this.#ticks, timer.due);
    timer.fire();
    return true;
  }
}

/** The clock of one machine whose time of day can be set, while its ticks stay those of `clock`. */
export interface SettableClock extends Clock {
  /** Sets the time of day forward, or back. */
  jump(ms: number): void;
}

export function settableClock(clock: Clock): SettableClock {
  let offsetMs = 0;
  return {
    now: () => clock.now() + offsetMs,
    ticks: () => clock.ticks(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    jump: (ms) => {
      offsetMs += ms;
    },
  };
}

/** One turn of the event loop: by then every chain of resolved promises has run to its next real wait. */
const everythingRunnable = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Earliest first, in the order of insertion among equals: this order makes a run repeatable. */
class TimerHeap {
  readonly #items: Timer[] = [];

  peek(): Timer | undefined {
    return this.#items[0];
  }

  push(timer: Timer): void {
    const items = this.#items;
    let index = items.push(timer) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = items[above];
      if (!parent || !before(timer, parent)) break;
      items[index] = parent;
      index = above;
    }
    items[index] = timer;
  }

  pop(): Timer | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (!first || !last || items.length === 0) return first;
    let index = 0;
    for (;;) {
      const below = 2 * index + 1;
      const [left, right] = [items[below], items[below + 1]];
      const isRight = left !== undefined && right !== undefined && before(right, left);
      const child = isRight ? right : left;
      if (!child || !before(child, last)) break;
      items[index] = child;
      index = isRight ? below + 1 : below;
    }
    items[index] = last;
    return first;
  }
}

const before = (a: Timer, b: Timer) => a.due < b.due || (a.due === b.due && a.order < b.order);
