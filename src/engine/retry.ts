/**
 * Doing something again while another client holds a lock, as a policy allows, and told to the log each time. Every other
 * failure passes at once.
 */

import type { Clock } from '../base/clock.ts';
import { counted } from '../base/count.ts';
import { ProxwrightError } from '../base/errors.ts';
import { advice, setting } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { Attempts, RETRIES, type RetryPolicy } from '../base/retry.ts';

export type { RetryPolicy } from '../base/retry.ts';

/** What holds where the stack says nothing in `rollout.retry` and `rollout.timeouts.lock`. */
export const DEFAULT_RETRY: RetryPolicy = RETRIES.lock;

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
  const attempts = new Attempts(policy, context);
  for (;;) {
    try {
      return await work(attempts.failed + 1);
    } catch (error) {
      if (!(error instanceof ProxwrightError) || !policy.counts(error)) throw error;
      const isAgain = await attempts.again(error, (pauseMs) =>
        context.log.log('warn', `${context.subject}: busy, trying again in ${seconds(pauseMs)}`, {
          attempt: attempts.failed,
          pauseMs,
          code: error.code,
        }),
      );
      if (!isAgain) throw exhausted(error, attempts);
    }
  }
}

function exhausted(error: ProxwrightError, { failed, spentMs }: Attempts): ProxwrightError {
  return error.with({
    addedDetail: `Tried ${counted(failed, 'time')} within ${seconds(spentMs)}.`,
    hint: advice`Run the command again when the other operation has ended, or allow more: ${setting('rollout.retry')}, ${setting('rollout.timeouts.lock')}.`,
  });
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
