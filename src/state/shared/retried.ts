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

/**
 * For this long after a server was given up, nothing is sent to it. A run that ends has several things left to save, and each
 * would wait for a server that is silent.
 */
const GIVEN_UP_MS = 10_000;

/** The requests of one store. */
export class Retries {
  readonly #deps: Retried;
  /** The first failure since the last answer: further requests do not wait again for a server that was given up. */
  #silentSince: Ticks | undefined;
  #givenUp: { readonly at: Ticks; readonly cause: unknown } | undefined;

  constructor(deps: Retried) {
    this.#deps = deps;
  }

  /** The work must be safe to repeat. `isTransient`: whether the next attempt may succeed. */
  async run<T>(isTransient: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
    const { clock, random, shown } = this.#deps;
    if (this.#givenUp && clock.ticks() - this.#givenUp.at < GIVEN_UP_MS) throw unreachable(shown, this.#givenUp.cause);
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
        this.#givenUp = undefined;
        return result;
      } catch (error) {
        if (error instanceof ProxwrightError) throw error;
        if (!isTransient(error)) throw unusable(shown, error);
        // An attempt that reached its own time limit counts as silence from its start.
        this.#silentSince ??= begun;
        const isOver = clock.ticks() - this.#silentSince > RETRIES.store.budgetMs;
        if (!isOver && (await attempts.again(error))) continue;
        this.#givenUp = { at: clock.ticks(), cause: error };
        throw unreachable(shown, error);
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
    hint: hintFor(cause),
    cause,
  });
}

/** Codes of Node for a certificate that it does not accept. */
const CERTIFICATE = /^(ERR_TLS_CERT|CERT_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET_ISSUER))/;

/** Of PostgreSQL. */
const INSUFFICIENT_PRIVILEGE = '42501';

function hintFor(cause: unknown): string {
  if (CERTIFICATE.test(codeIn(cause)))
    return 'Check the address. If the certificate is from your own authority, name its PEM file as "ca".';
  if (/RequestTimeTooSkewed/.test(textOf(cause)))
    return 'The clocks of this machine and of the server differ by too much. Set the clock of this machine.';
  if (codeIn(cause) === INSUFFICIENT_PRIVILEGE)
    return 'Give this user a schema of its own: create schema proxwright authorization USER. Its tables must belong to it, too.';
  if (/NoSuchBucket/.test(textOf(cause))) return 'Create the bucket, or correct its name.';
  return 'Check its address, the credentials and what they allow.';
}

function codeIn(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
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
