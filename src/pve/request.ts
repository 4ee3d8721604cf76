/**
 * The API that the typed handles use: a call, the schema of its response, and options. Login, encoding, limits, retries
 * and errors are handled below.
 */
import type { ZodType } from 'zod';
import type { Limiter } from '../base/limiter.ts';
import type { Logger } from '../base/log.ts';
import { decodeAnswer } from './answer.ts';
import { upidShape } from './api/shapes.ts';
import type { Call, CallOptions } from './exchange.ts';
import type { Session } from './http/session.ts';
import type { ApiPath } from './path.ts';
import type { FormParams } from './wire/encoding.ts';
import type { Upid } from './wire/ids.ts';

export class Api {
  readonly #session: Session;
  readonly #logger: Logger;
  /** Each agent call blocks one of the server's three workers for up to 3 s, so they have a lower limit. */
  readonly agentLimiter: Limiter;

  constructor(session: Session, logger: Logger, agentLimiter: Limiter) {
    this.#session = session;
    this.#logger = logger;
    this.agentLimiter = agentLimiter;
  }

  get<T>(path: ApiPath, shape: ZodType<T>, params?: FormParams, options?: CallOptions): Promise<T> {
    return this.call({ method: 'GET', path, params }, shape, options);
  }

  post<T>(path: ApiPath, shape: ZodType<T>, params?: FormParams, options?: CallOptions): Promise<T> {
    return this.call({ method: 'POST', path, params }, shape, options);
  }

  put<T>(path: ApiPath, shape: ZodType<T>, params?: FormParams, options?: CallOptions): Promise<T> {
    return this.call({ method: 'PUT', path, params }, shape, options);
  }

  delete<T>(path: ApiPath, shape: ZodType<T>, params?: FormParams, options?: CallOptions): Promise<T> {
    return this.call({ method: 'DELETE', path, params }, shape, options);
  }

  /** One page of a list, with the total number of entries. */
  async page<T>(path: ApiPath, shape: ZodType<T>, params?: FormParams, options?: CallOptions) {
    const answer = await this.#session.send({ method: 'GET', path, params }, options);
    return { entries: decodeAnswer(answer, shape), total: answer.total };
  }

  async call<T>(call: Call, shape: ZodType<T>, options?: CallOptions): Promise<T> {
    return decodeAnswer(await this.#session.send(call, options), shape);
  }

  /** Starts a task and returns its UPID, without waiting for its end. */
  async dispatch(call: Call, options?: CallOptions): Promise<Upid> {
    const answer = await this.#session.send(call, options);
    const upid = decodeAnswer(answer, upidShape);
    this.#logger.log('debug', `${answer.context.request} started a task`, { upid });
    return upid;
  }
}
