/**
 * Sends one request and reads the response, for any identity: encoding, the concurrency limit, and retries. A read
 * is retried after a failed connection; a change only if it was certainly not executed.
 */
import { Buffer } from 'node:buffer';
import { type Clock, throwIfCanceled } from '../base/clock.ts';
import { canceled, isCanceled } from '../base/errors.ts';
import type { Limiter } from '../base/limiter.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { Attempts, RETRIES } from '../base/retry.ts';
import { type KnownSecrets, Secret } from '../base/secret.ts';
import {
  isStreamBody,
  type Method,
  REQUEST_TIMEOUT_MS,
  type StreamBody,
  type Transport,
  TransportFailure,
  type WireRequest,
  type WireResponse,
} from '../base/transport.ts';
import { type Answer, type Reading, readAnswer } from './answer.ts';
import { errorFromTransport, type RequestContext } from './errors/failures.ts';
import type { Fence } from './fence.ts';
import type { ApiPath } from './path.ts';
import type { Reach } from './reach.ts';
import { encodeForm, type FormParams } from './wire/encoding.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** For one attempt, from the first byte sent to the last byte received. */
  readonly timeoutMs?: number | undefined;
  /** The maximum number of attempts of a request that may be retried. */
  readonly attempts?: number | undefined;
  /** Set by `Pve.inOneSlot`: the caller already holds a slot of the concurrency limit. */
  readonly inSlot?: true | undefined;
  /**
   * An answer that another caller got at most this long ago is good enough; only clients that share reads keep answers.
   */
  readonly maxAgeMs?: number | undefined;
  /** Reports the bytes of an upload that were sent; starts at 0 for each attempt. */
  readonly onSent?: ((sentBytes: number) => void) | undefined;
}

export interface Call {
  readonly method: Method;
  readonly path: ApiPath;
  readonly params?: FormParams | undefined;
  /** Changes nothing although it is not a GET: a login, a ping. */
  readonly isQuestion?: true;
  /** A body that is not a form: the multipart of an upload. */
  readonly body?: { readonly contentType: string; readonly content: Uint8Array | StreamBody };
}

export interface ExchangeDeps {
  readonly transport: Transport;
  readonly endpoint: string;
  readonly limiter: Limiter;
  readonly reach: Reach;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Collects every secret that is sent; errors contain none of them. */
  readonly secrets: KnownSecrets;
}

/** Headers that authenticate the request, and the secrets in them, which messages must not contain. */
export interface Identity {
  readonly principal: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly Secret[];
}

export class Exchange {
  readonly #deps: ExchangeDeps;
  #sent = 0;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
  }

  /** How many requests were sent so far, retries included. */
  get sent(): number {
    return this.#sent;
  }

  /** Runs several requests in one slot of the concurrency limit: once the first is sent, the next does not queue. */
  inOneSlot<T>(work: (options: CallOptions) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#deps.limiter.run(() => work({ signal, inSlot: true }), signal);
  }

  async send(call: Call, identity: Identity, options: CallOptions = {}): Promise<Answer> {
    const { clock, random, logger, endpoint, secrets, reach } = this.#deps;
    const { attempts: most = RETRIES.request.attempts, signal } = options;
    secrets.add(...identity.secrets, ...secretsOf(call.params));
    const context: RequestContext = {
      changes: call.method !== 'GET' && !call.isQuestion,
      request: `${call.method} ${call.path.shown}`,
      endpoint,
      principal: identity.principal,
      secrets,
    };
    const wire = toWire(call, identity.headers);
    const patience = reach.patience(signal);
    const attempts = new Attempts({ ...RETRIES.request, attempts: most }, { clock, random, signal });
    for (;;) {
      const outcome = await this.#attempt(context, call, wire, options);
      if (outcome.kind === 'answer') return outcome.answer;
      const { error } = outcome;
      const isAgain = await attempts.again(error, (pauseMs) =>
        logger.log('debug', `${context.request}: ${error.code}, retrying in ${pauseMs} ms`, {
          attempt: attempts.failed,
          attempts: most,
          code: error.code,
        }),
      );
      if (isAgain) continue;
      if (options.attempts !== undefined || !reach.isWaitedFor(error)) throw error;
      if (!(await patience.again(error))) throw error;
    }
  }

  async #attempt(context: RequestContext, call: Call, wire: WireRequest, options: CallOptions): Promise<Reading> {
    const { transport, limiter, reach, fence, clock } = this.#deps;
    const beforeSend = context.changes ? () => fence.assertMayChange() : undefined;
    let underWay = false;
    let sentAt = clock.ticks();
    try {
      const exchanged = () => {
        throwIfCanceled(options.signal);
        beforeSend?.();
        underWay = true;
        this.#sent++;
        sentAt = clock.ticks();
        // An upload takes as long as its bytes do.
        const { timeoutMs = REQUEST_TIMEOUT_MS } = options;
        const isUpload = isStreamBody(wire.body);
        const hasEnded = isUpload ? () => {} : reach.expectAnswer(context.changes ? 'change' : 'read', timeoutMs);
        return transport.send(fenced(wire, beforeSend), { ...options, beforeSend }).finally(hasEnded);
      };
      const response: WireResponse = await (options.inSlot ? exchanged() : limiter.run(exchanged, options.signal));
      reach.answered(call.path.shown, response.status, sentAt);
      return readAnswer(context, response);
    } catch (thrown) {
      if (thrown instanceof TransportFailure) {
        reach.failed(thrown, sentAt);
        return { kind: 'error', error: errorFromTransport(context, thrown) };
      }
      if (isCanceled(thrown) && underWay && context.changes) {
        throw canceled(`Stopped during ${context.request}; whether it took effect is not known.`, thrown);
      }
      throw thrown;
    }
  }
}

/** An upload may take longer than the lock lasts. Proxmox discards one that ends early. */
function fenced(wire: WireRequest, assertMayChange: (() => void) | undefined): WireRequest {
  const { body } = wire;
  if (!isStreamBody(body) || !assertMayChange) return wire;
  async function* chunks(from: AsyncIterable<Uint8Array>, assertAllowed: () => void) {
    for await (const chunk of from) {
      assertAllowed();
      yield chunk;
    }
  }
  return { ...wire, body: { sizeBytes: body.sizeBytes, open: () => chunks(body.open(), assertMayChange) } };
}

function toWire(call: Call, headers: Readonly<Record<string, string>>): WireRequest {
  const form = encodeForm(call.params ?? {});
  const base = `/api2/json${call.path.encoded}`;
  // Proxmox rejects a body on GET and DELETE; their parameters go into the query.
  const inQuery = call.method === 'GET' || call.method === 'DELETE' || call.body !== undefined;
  const target = inQuery && form !== '' ? `${base}?${form}` : base;
  const body = call.body?.content ?? (inQuery ? undefined : form);
  if (body === undefined) return { method: call.method, target, headers: { accept: 'application/json', ...headers } };
  return {
    method: call.method,
    target,
    headers: {
      accept: 'application/json',
      'content-type': call.body?.contentType ?? 'application/x-www-form-urlencoded',
      'content-length': String(isStreamBody(body) ? body.sizeBytes : Buffer.byteLength(body)),
      ...headers,
    },
    body,
  };
}

function secretsOf(params: FormParams = {}): Secret[] {
  return Object.values(params)
    .flat()
    .filter((value) => value instanceof Secret);
}
