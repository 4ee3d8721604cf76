/** Requests to the server of a shared store: repeated while it does not answer, then given up with an error that says so. */
import type { Clock } from '../../base/clock.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import type { Random } from '../../base/random.ts';
import { Attempts, RETRIES } from '../../base/retry.ts';

export interface Retried {
  readonly clock: Clock;
  readonly random: Random;
  /** The store, for messages. */
  readonly shown: string;
}

/** The work must be safe to repeat. `isTransient`: whether an error may be gone at the next attempt. */
export async function withRetries<T>(
  { clock, random, shown }: Retried,
  isTransient: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  const attempts = new Attempts(
    { ...RETRIES.store, counts: (error) => !(error instanceof ProxwrightError) && isTransient(error) },
    { clock, random },
  );
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ProxwrightError) throw error;
      if (await attempts.again(error)) continue;
      throw isTransient(error) ? unreachable(shown, error) : unusable(shown, error);
    }
  }
}

function unreachable(shown: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_UNREACHABLE',
    where: { file: shown },
    detail: `The store of the state does not answer: ${textOf(cause)}.`,
    hint: 'Run the command again when it answers: it resumes.',
    cause,
  });
}

function unusable(shown: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    where: { file: shown },
    detail: `The store of the state says: "${textOf(cause)}".`,
    hint: 'Check its address, the credentials and what they allow.',
    cause,
  });
}

export function storeDamaged(shown: string, problem: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file: shown },
    detail: `The store of the state was damaged or changed by something other than Proxwright: ${problem}.`,
    hint: advice`Restore it from a backup of the server, or rebuild the state in a new place: ${command('state recover')}`,
  });
}

export function storeTooNew(shown: string, found: number, known: number): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_TOO_NEW',
    where: { file: shown },
    detail: `The store has format ${found}; this Proxwright knows formats up to ${known}.`,
    hint: 'Use the Proxwright that changed it, or a newer one.',
  });
}

function textOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(textOf).join('; ');
  return cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
}
