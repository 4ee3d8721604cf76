/**
 * The policies of all retries. A policy says which failures to retry, how many attempts there are, how long the pauses
 * between them are, and how long all of them may take together. Some are nested: see `docs/architecture.md`.
 */
import type { Clock, Ticks } from './clock.ts';
import { hasCode, isCanceled, isFamily, ProxwrightError } from './errors.ts';
import { advice, setting } from './hint.ts';
import type { Logger } from './log.ts';
import type { Random } from './random.ts';
import { counted, printDuration } from './values/units.ts';

export interface RetryPolicy {
  readonly name: string;
  /** Failures to retry; every other failure is final. */
  readonly counts: (error: unknown) => boolean;
  /** Including the first one. */
  readonly attempts: number;
  /** The pause after the first failure; it doubles with each one. */
  readonly firstMs: number;
  readonly maxMs: number;
  /**
   * From the first failure to the last attempt. The work of the first attempt before it failed does not count as
   * waiting.
   */
  readonly budgetMs: number;
  /** The random part of a pause, so that several callers do not retry at the same time. */
  readonly spread: number;
}

const UNBOUNDED = Number.POSITIVE_INFINITY;
const AT_ONCE = { firstMs: 0, maxMs: 0, spread: 0 } as const;

/** `budgetMs` is infinite if the stack sets it (`rollout.timeouts`) or another limit applies. */
export const RETRIES = {
  /** One request that was certainly not executed, or only reads; also a read that met something which passes by itself. */
  request: {
    name: 'request',
    counts: (error) =>
      hasCode(error, 'NOT_EXECUTED', 'UNREACHABLE') ||
      (hasCode(error, 'SERVER_FAULT') && error.outcome === 'not-executed'),
    attempts: 4,
    firstMs: 300,
    maxMs: UNBOUNDED,
    budgetMs: UNBOUNDED,
    spread: 0.5,
  },
  /**
   * A step that finds a lock of another client. Bounded by time alone: how long one attempt takes depends on the server,
   * which waits for locks itself. The stack sets it: `rollout.retry`, `rollout.timeouts.lock`.
   */
  lock: {
    name: 'lock',
    counts: (error) => isFamily(error, 'busy'),
    attempts: UNBOUNDED,
    firstMs: 2_000,
    maxMs: 30_000,
    budgetMs: 600_000,
    spread: 0.2,
  },
  /** The server, its API daemon or a node does not answer. The stack sets the budget: `rollout.timeouts.unreachable`. */
  reach: {
    name: 'reach',
    counts: (error) => hasCode(error, 'UNREACHABLE', 'REQUEST_TIMEOUT', 'NOT_EXECUTED'),
    attempts: UNBOUNDED,
    firstMs: 1_000,
    maxMs: 5_000,
    budgetMs: 300_000,
    spread: 0,
  },
  /** Observing a VM again: the change may have happened, or was based on an outdated read. */
  round: {
    name: 'round',
    counts: isUnsettled,
    attempts: 8,
    budgetMs: UNBOUNDED,
    ...AT_ONCE,
  },
  /** Observing a file in a storage again, for the same reasons. */
  fileRound: { name: 'fileRound', counts: isUnsettled, attempts: 6, budgetMs: UNBOUNDED, ...AT_ONCE },
  /** An HA rule before the HA manager has recorded its nodes, which it does some seconds after the first resource. */
  haManager: {
    name: 'haManager',
    counts: (error) => hasCode(error, 'PARAMETER_REJECTED'),
    attempts: UNBOUNDED,
    firstMs: 2_000,
    maxMs: 10_000,
    budgetMs: 180_000,
    spread: 0.2,
  },
  /** Creating a VM: with another id, or with the same request if the last one had no effect. */
  make: { name: 'make', counts: () => true, attempts: 20, budgetMs: UNBOUNDED, ...AT_ONCE },
  /** The status of a task: consecutive responses that make no sense. The polling sets the pauses. */
  taskStatus: {
    name: 'taskStatus',
    counts: (error) => error instanceof ProxwrightError && !isCanceled(error) && !isFamily(error, 'auth'),
    attempts: 5,
    budgetMs: UNBOUNDED,
    ...AT_ONCE,
  },
  /** A statement or request to the server of a shared store; every one of them may be repeated. Shorter than a lease. */
  store: {
    name: 'store',
    counts: (error) => !isCanceled(error),
    attempts: UNBOUNDED,
    firstMs: 200,
    maxMs: 3_000,
    budgetMs: 30_000,
    spread: 0.5,
  },
  /** Downloading an image to this machine; an attempt that received bytes resets the count. */
  download: {
    name: 'download',
    counts: (error) => !(error instanceof ProxwrightError),
    attempts: 5,
    firstMs: 1_000,
    maxMs: UNBOUNDED,
    budgetMs: UNBOUNDED,
    spread: 0,
  },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

interface RetryDeps {
  readonly clock: Clock;
  /** Required if the policy spreads its pauses. */
  readonly random?: Random | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One use of a policy: counts the attempts and decides whether there is another one. */
export class Attempts {
  readonly #policy: RetryPolicy;
  readonly #deps: RetryDeps;
  #failedSince: Ticks | undefined;
  #failed = 0;

  constructor(policy: RetryPolicy, deps: RetryDeps) {
    this.#policy = policy;
    this.#deps = deps;
  }

  /** The number of failed attempts. */
  get failed(): number {
    return this.#failed;
  }

  /** Since the first failure. */
  get spentMs(): number {
    const now = this.#deps.clock.ticks();
    return now - (this.#failedSince ?? now);
  }

  get leftMs(): number {
    return this.#policy.budgetMs - this.spentMs;
  }

  /** Counts a failure. Returns the pause before the next attempt; undefined if there is none. */
  next(error: unknown): number | undefined {
    const { counts, attempts, budgetMs } = this.#policy;
    if (!counts(error)) return undefined;
    this.#failedSince ??= this.#deps.clock.ticks();
    const pauseMs = this.#pauseMs(++this.#failed);
    return this.#failed >= attempts || this.spentMs + pauseMs > budgetMs ? undefined : pauseMs;
  }

  /** Counts a failure and waits; false if there is no other attempt. Calls `onPause` before the pause. */
  async again(error: unknown, onPause?: (pauseMs: number) => void): Promise<boolean> {
    const pauseMs = this.next(error);
    if (pauseMs === undefined) return false;
    onPause?.(pauseMs);
    if (pauseMs > 0) await this.#deps.clock.sleep(pauseMs, this.#deps.signal);
    return true;
  }

  /** Resets the count after a success: only consecutive failures count. */
  restart(): void {
    this.#failed = 0;
    this.#failedSince = undefined;
  }

  #pauseMs(failed: number): number {
    const { firstMs, maxMs, spread } = this.#policy;
    const pauseMs = Math.min(maxMs, firstMs * 2 ** (failed - 1));
    const chance = spread === 0 ? 0.5 : (this.#deps.random?.next() ?? 0.5);
    return Math.round(pauseMs * (1 - spread / 2 + spread * chance));
  }
}

/** A request may have had its effect, the node lost the task, or another client was faster. */
function isUnsettled(error: unknown): boolean {
  const isUnknown = error instanceof ProxwrightError && error.outcome === 'unknown';
  return isUnknown || hasCode(error, 'TASK_VANISHED', 'CONFIG_CHANGED');
}

/** The policy if the stack does not set `rollout.retry` and `rollout.timeouts.lock`. */
export const DEFAULT_RETRY: RetryPolicy = RETRIES.lock;

export interface RetryContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** For the log: `configure vm.web`. */
  readonly subject: string;
  /** Called before each pause. */
  readonly onPause?:
    | ((pause: { readonly text: string; readonly ms: number; readonly error: ProxwrightError }) => void)
    | undefined;
}

/** Retries while another client holds a lock, and logs each retry; any other failure ends it at once. */
export async function retryWhileBusy<T>(
  policy: RetryPolicy,
  context: RetryContext,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(policy, context);
  for (;;) {
    try {
      return await work(attempts.failed + 1);
    } catch (error) {
      if (!(error instanceof ProxwrightError) || !policy.counts(error)) throw error;
      const isAgain = await attempts.again(error, (pauseMs) => {
        const text = `${context.subject}: busy, trying again in ${seconds(pauseMs)}, for up to ${printDuration(attempts.leftMs)} more`;
        context.log.log('warn', text, { attempt: attempts.failed, pauseMs, code: error.code });
        context.onPause?.({ text, ms: pauseMs, error });
      });
      if (!isAgain) throw exhausted(error, attempts);
    }
  }
}

function exhausted(error: ProxwrightError, { failed, spentMs }: Attempts): ProxwrightError {
  return error.with({
    addedDetail: `Tried ${counted(failed, 'time')} within ${seconds(spentMs)} of waiting.`,
    hint: advice`Run the command again when the other operation has ended, or allow more time: ${setting('rollout.timeouts.lock')}.`,
  });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
