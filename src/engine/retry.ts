/**
 * Doing something again while somebody else holds a lock: bounded by attempts and by time, with growing pauses, and told to
 * the log each time. Every other failure passes at once.
 */

import type { Clock } from '../base/clock.ts';
import { counted } from '../base/count.ts';
import { isFamily, type ProxwrightError } from '../base/errors.ts';
import { advice, setting } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';

/** `rollout.retry` and `rollout.timeouts.lock` of a stack. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly firstMs: number;
  readonly maxMs: number;
  /** All attempts and pauses together. */
  readonly budgetMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 5, firstMs: 2_000, maxMs: 30_000, budgetMs: 300_000 };

export interface RetryContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal?: AbortSignal | undefined;
  /** What is being tried, for the log and for the error: `configure vm.web`. */
  readonly subject: string;
}

export async function retryWhileBusy<T>(
  policy: RetryPolicy,
  context: RetryContext,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  const startedAt = context.clock.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!isFamily(error, 'busy')) throw error;
      const spentMs = context.clock.now() - startedAt;
      const pauseMs = pauseAfter(policy, attempt, context.random);
      if (attempt >= policy.attempts || spentMs + pauseMs > policy.budgetMs) throw exhausted(error, attempt, spentMs);
      context.log.log('warn', `${context.subject}: busy, trying again in ${seconds(pauseMs)}`, {
        attempt,
        pauseMs,
        code: error.code,
      });
      await context.clock.sleep(pauseMs, context.signal);
    }
  }
}

/** Doubling, capped, and spread by up to a fifth so that several runs do not meet again at the same moment. */
function pauseAfter(policy: RetryPolicy, attempt: number, random: Random): number {
  const base = Math.min(policy.maxMs, policy.firstMs * 2 ** (attempt - 1));
  return Math.round(base * (0.9 + 0.2 * random.next()));
}

function exhausted(error: ProxwrightError, attempts: number, spentMs: number): ProxwrightError {
  return error.with({
    addedDetail: `Tried ${counted(attempts, 'time')} within ${seconds(spentMs)}.`,
    hint: advice`Run the command again when the other operation has ended, or allow more: ${setting('rollout.retry')}, ${setting('rollout.timeouts.lock')}.`,
  });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
