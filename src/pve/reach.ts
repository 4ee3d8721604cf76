/**
 * Whether the server answers. One object for all requests of a client, because one outage is one message: it appears
 * once, within seconds, with the time until which the client retries; every pending request then gives up at the same
 * moment. A node that the server cannot reach (595, 596) counts separately.
 */
import type { Clock, Instant, Ticks } from '../base/clock.ts';
import { canceled, ProxwrightError } from '../base/errors.ts';
import { advice, setting } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import { RETRIES } from '../base/retry.ts';
import { TransportFailure } from '../base/transport.ts';
import { printDuration } from '../base/values/units.ts';

export interface ReachDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly endpoint: string;
}

interface Outage {
  readonly since: Ticks;
  readonly sinceTime: Instant;
  reason: string;
  isSaid: boolean;
}

/** Shorter interruptions, such as a restart of pveproxy, are not worth a line. */
const SAY_AFTER_MS = 2_000;
/** A request without an answer for this long is mentioned before it times out. A change may wait for locks, 10 s each. */
const SILENCE_MS = { read: 5_000, change: 20_000 } as const;

const SERVER = '';

/** One for all requests: every new error would read the stack. */
const ANSWERED = canceled('The request has ended.');

export interface Patience {
  /**
   * After a request that had no effect because nothing answered: waits and returns true, or throws the error to end with
   * once the time is up. False for any other failure.
   */
  again(error: unknown): Promise<boolean>;
}

export class Reach {
  readonly #deps: ReachDeps;
  readonly #outages = new Map<string, Outage>();
  #lastAnswer: Ticks | undefined;
  /** When the request was sent whose silence was mentioned last. */
  #silentSince: Ticks | undefined;
  #runs = 0;
  #patienceMs: number = RETRIES.reach.budgetMs;

  constructor(deps: ReachDeps) {
    this.#deps = deps;
  }

  /**
   * Runs work that continues on the server and must not end with the first lost connection: until it is done, every
   * request waits for the server for up to `patienceMs`. Elsewhere a request fails after a few attempts.
   */
  async duringRun<T>(patienceMs: number, work: () => Promise<T>): Promise<T> {
    this.#patienceMs = patienceMs;
    this.#runs++;
    try {
      return await work();
    } finally {
      this.#runs--;
    }
  }

  /**
   * Call when a request is sent that may take `timeoutMs`. Returns a function to call when it has ended, successfully or
   * not.
   */
  expectAnswer(kind: keyof typeof SILENCE_MS, timeoutMs: number): () => void {
    const { clock } = this.#deps;
    const sentAt = clock.ticks();
    const ended = new AbortController();
    clock.sleep(SILENCE_MS[kind], ended.signal).then(
      () => {
        if ((this.#lastAnswer ?? sentAt) > sentAt) return;
        if (this.#isRetried) this.#lost(SERVER, sentAt, 'no answer so far');
        else this.#saySilence(sentAt, timeoutMs);
      },
      () => {},
    );
    return () => ended.abort(ANSWERED);
  }

  /** Until the connection returns, or the patience of the run ends. A server that never answered may be the wrong one. */
  get #isRetried(): boolean {
    return this.#runs > 0 && this.#lastAnswer !== undefined;
  }

  /** Of a request that ends the command if no answer comes. */
  #saySilence(since: Ticks, timeoutMs: number): void {
    const { clock, logger, endpoint } = this.#deps;
    if (this.#silentSince !== undefined && this.#silentSince >= (this.#lastAnswer ?? 0)) return;
    this.#silentSince = since;
    const sinceTime = clock.now() - (clock.ticks() - since);
    const [from, until] = [sinceTime, sinceTime + timeoutMs].map(stamp);
    logger.log('warn', `${endpoint} has not answered since ${from}. Giving up at ${until}, if no answer comes.`);
  }

  /** A response came. `path` is that of its request; 595 and 596 say that the node there did not answer the server. */
  answered(path: string, status: number, sentAt: Ticks): void {
    this.#lastAnswer = this.#deps.clock.ticks();
    this.#found(SERVER);
    if (status === 595 || status === 596) this.#lost(nodeIn(path), sentAt, `the server answered ${status}`);
    else this.#found(nodeIn(path));
  }

  failed(failure: TransportFailure, sentAt: Ticks): void {
    if (failure.kind === 'certificate' || failure.kind === 'malformed') return;
    // The server has answered another request since: the loss of this one says nothing about the time after that
    // answer.
    const isOld = (this.#lastAnswer ?? sentAt) > sentAt;
    this.#lost(SERVER, isOld ? this.#deps.clock.ticks() : sentAt, failure.message);
  }

  /** For one request or action: its attempts, each after a pause. */
  patience(signal: AbortSignal | undefined): Patience {
    const { clock } = this.#deps;
    // If only this request fails while others are answered, no outage lasts, so the pauses have a limit as well.
    let pausedMs = 0;
    return {
      again: async (error) => {
        if (!RETRIES.reach.counts(error)) return false;
        const pauseMs = this.#pauseMs(error);
        if (pauseMs === undefined || pausedMs > this.#patienceMs) throw this.gaveUp(error);
        pausedMs += pauseMs;
        await clock.sleep(pauseMs, signal);
        return true;
      },
    };
  }

  /** Whether a request that failed because nothing answered may be sent again. */
  mayTryAgain(error: unknown): boolean {
    return this.#pauseMs(error) !== undefined;
  }

  /** Whether the request itself waits until the connection returns. */
  isWaitedFor(error: ProxwrightError): boolean {
    return this.#isRetried && error.cause instanceof TransportFailure;
  }

  #pauseMs(error: unknown): number | undefined {
    const outage = this.#outages.get(keyOf(error));
    // A server that never answered may be the wrong one: no work of ours runs there.
    if (!outage || this.#lastAnswer === undefined) return undefined;
    const { firstMs, maxMs } = RETRIES.reach;
    const lostMs = this.#deps.clock.ticks() - outage.since;
    const pauseMs = Math.round(Math.min(maxMs, Math.max(firstMs, lostMs / 4)));
    return lostMs + pauseMs > this.#patienceMs ? undefined : pauseMs;
  }

  /** The error to end with when there is no further attempt. Unchanged if the outage has not lasted for the time allowed. */
  gaveUp(error: unknown, stillRunning?: string): unknown {
    const key = keyOf(error);
    const outage = this.#outages.get(key);
    if (!(error instanceof ProxwrightError) || !outage || this.#lastAnswer === undefined) return error;
    const lostMs = this.#deps.clock.ticks() - outage.since;
    if (lostMs < Math.min(this.#patienceMs, SILENCE_MS.read)) return error;
    return new ProxwrightError({
      code: 'UNREACHABLE',
      outcome: error.outcome,
      detail: [
        `${this.#nameOf(key)} has not answered since ${stamp(outage.sinceTime)}, for ${printDuration(lostMs)}: ${outage.reason}.`,
        ...(stillRunning === undefined ? [] : [`${stillRunning} may still be running there.`]),
      ].join('\n'),
      where: error.diagnostic.where,
      hint: advice`Run the command again when it answers: it resumes. To wait longer: ${setting('rollout.timeouts.unreachable')}.`,
      cause: error,
    });
  }

  #lost(key: string, since: Ticks, reason: string): void {
    const { clock, logger } = this.#deps;
    const lostMs = clock.ticks() - since;
    const outage = this.#outages.get(key) ?? { since, sinceTime: clock.now() - lostMs, reason, isSaid: false };
    outage.reason = reason;
    this.#outages.set(key, outage);
    if (outage.isSaid || !this.#isRetried || clock.ticks() - outage.since < SAY_AFTER_MS) return;
    outage.isSaid = true;
    const [from, until] = [outage.sinceTime, outage.sinceTime + this.#patienceMs].map(stamp);
    logger.log('warn', `${this.#nameOf(key)} has not answered since ${from}: ${reason}. Trying until ${until}.`);
  }

  #found(key: string): void {
    const outage = this.#outages.get(key);
    if (!outage) return;
    this.#outages.delete(key);
    const { clock, logger } = this.#deps;
    const lostMs = clock.ticks() - outage.since;
    if (outage.isSaid) logger.log('warn', `${this.#nameOf(key)} answers again, after ${printDuration(lostMs)}.`);
  }

  #nameOf(key: string): string {
    return key === SERVER ? this.#deps.endpoint : `${key}, behind ${this.#deps.endpoint},`;
  }
}

function keyOf(error: unknown): string {
  if (!(error instanceof ProxwrightError) || error.cause instanceof TransportFailure) return SERVER;
  return nodeIn(error.diagnostic.where?.request?.replace(/^\S+ /, '') ?? '');
}

/** Requests to the cluster are answered by the API daemon of the server itself. */
function nodeIn(path: string): string {
  return /^\/nodes\/([^/?]+)/.exec(path)?.[1] ?? 'its API daemon';
}

const stamp = (time: Instant) => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
