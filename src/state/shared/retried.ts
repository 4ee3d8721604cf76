/**
 * Requests to the server of a shared store: retried while it does not answer, then given up with an error that says so.
 */
import type { Clock, Ticks } from '../../base/clock.ts';
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

/** The requests of one store. */
export class Retries {
  readonly #deps: Retried;
  /** The first failure since the last answer: further requests do not wait again for a server that was given up. */
  #silentSince: Ticks | undefined;

  constructor(deps: Retried) {
    this.#deps = deps;
  }

  /** The work must be safe to repeat. `isTransient`: whether the next attempt may succeed. */
  async run<T>(isTransient: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
    const { clock, random, shown } = this.#deps;
    const silentMs = this.#silentSince === undefined ? 0 : clock.ticks() - this.#silentSince;
    const attempts = new Attempts(
      {
        ...RETRIES.store,
        budgetMs: RETRIES.store.budgetMs - silentMs,
        counts: (error) => !(error instanceof ProxwrightError) && isTransient(error),
      },
      { clock, random },
    );
    for (;;) {
      const begun = clock.ticks();
      try {
        const result = await work();
        this.#silentSince = undefined;
        return result;
      } catch (error) {
        if (error instanceof ProxwrightError) throw error;
        if (!isTransient(error)) throw unusable(shown, error);
        // An attempt that reached its own time limit counts as silence from its start.
        this.#silentSince ??= begun;
        const isOver = clock.ticks() - this.#silentSince > RETRIES.store.budgetMs;
        if (isOver || !(await attempts.again(error))) throw unreachable(shown, error);
      }
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
