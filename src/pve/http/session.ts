/**
 * Authenticates the requests of a client, with a token or with tickets. One `GET /version` verifies the credentials before
 * any other request: a refused login takes the server 3 s, so concurrent callers share one attempt, and its refusal is
 * cached.
 */

import { z } from 'zod';
import { type Clock, orCanceled, type Ticks } from '../../base/clock.ts';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { Secret } from '../../base/secret.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import { type Answer, decodeAnswer } from '../answer.ts';
import { type PveVersion, versionSchema } from '../api/shapes.ts';
import { whereOf } from '../errors/failures.ts';
import type { Call, CallOptions, Exchange, Identity } from '../exchange.ts';
import { apiPath } from '../path.ts';
import { type FormParams, percentEncode } from '../wire/encoding.ts';
import { type Credentials, type PasswordCredentials, principalOf } from './credentials.ts';

export interface SessionDeps {
  readonly exchange: Exchange;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Tickets live for two hours (pve-access-control AccessControl.pm $ticket_lifetime). */
const RENEW_AFTER_MS = 90 * 60_000;
/** How long a refusal also fails the requests after it. */
const REMEMBER_REFUSAL_MS = 60_000;

export class Session {
  readonly principal: string;
  readonly #deps: SessionDeps;
  readonly #proof = new Shared<PveVersion>();
  readonly #ticketing = new Shared<Ticket>();
  #version: PveVersion | undefined;
  #ticket: Ticket | undefined;
  #refusal: { readonly error: ProxwrightError; readonly until: Ticks } | undefined;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.principal = principalOf(deps.credentials);
  }

  /** Verifies the credentials with one request, shared by concurrent callers; later calls send nothing. */
  async authenticate(options: CallOptions = {}): Promise<PveVersion> {
    this.#throwKnownRefusal();
    if (this.#version) return this.#version;
    return this.#proof.run(() => this.#prove(), options.signal);
  }

  async send(call: Call, options: CallOptions = {}): Promise<Answer> {
    await this.authenticate(options);
    this.#throwKnownRefusal();
    return this.#sendAuthorised(call, options);
  }

  async #prove(): Promise<PveVersion> {
    // Several callers may share this request, so the signal of one of them must not cancel it.
    const call: Call = { method: 'GET', path: apiPath`/version` };
    const version = decodeAnswer(await this.#sendAuthorised(call, {}), versionSchema);
    this.#version = version;
    this.#deps.logger.log('debug', `logged in as ${this.principal}`, { version: version.version });
    return version;
  }

  async #sendAuthorised(call: Call, options: CallOptions): Promise<Answer> {
    const ticket = await this.#currentTicket(options);
    try {
      return await this.#deps.exchange.send(call, this.#identity(ticket), options);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      if (!ticket) throw this.#remember(thrown);
      // A 401 means that nothing was executed, so the same request may be sent again, once.
      if (this.#ticket === ticket) this.#ticket = undefined;
      const fresh = await this.#currentTicket(options);
      return this.#deps.exchange.send(call, this.#identity(fresh), options);
    }
  }

  async #currentTicket(options: CallOptions): Promise<Ticket | undefined> {
    const { credentials, clock } = this.#deps;
    if (credentials.kind === 'token') return undefined;
    const ticket = this.#ticket;
    if (ticket && clock.ticks() - ticket.obtainedAt < RENEW_AFTER_MS) return ticket;
    this.#throwKnownRefusal();
    return this.#ticketing.run(async () => {
      const { exchange, logger } = this.#deps;
      try {
        this.#ticket =
          (ticket && (await renew(exchange, clock, ticket))) ?? (await login(exchange, clock, credentials));
      } catch (thrown) {
        throw isRefusal(thrown) ? this.#remember(thrown) : thrown;
      }
      logger.log('debug', `${ticket ? 'renewed the' : 'got a'} ticket for ${this.principal}`);
      return this.#ticket;
    }, options.signal);
  }

  #identity(ticket: Ticket | undefined): Identity {
    const { credentials } = this.#deps;
    if (ticket) return ticketIdentity(ticket);
    const { principal } = this;
    if (credentials.kind !== 'token') return { principal, headers: {}, secrets: [] };
    const authorization = `PVEAPIToken=${credentials.tokenId}=${credentials.secret.reveal()}`;
    return { principal, headers: { authorization }, secrets: [credentials.secret] };
  }

  #remember(error: ProxwrightError): ProxwrightError {
    this.#version = undefined;
    this.#refusal = { error, until: this.#deps.clock.ticks() + REMEMBER_REFUSAL_MS };
    return error;
  }

  #throwKnownRefusal(): void {
    if (this.#refusal && this.#deps.clock.ticks() < this.#refusal.until) throw this.#refusal.error;
  }
}

function isRefusal(thrown: unknown): thrown is ProxwrightError {
  return isFamily(thrown, 'auth') && (thrown.code === 'LOGIN_REFUSED' || thrown.code === 'TICKET_EXPIRED');
}

/** One call at a time; concurrent callers share its result. */
class Shared<T> {
  #underWay: Promise<T> | undefined;

  async run(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (!this.#underWay) {
      this.#underWay = work().finally(() => {
        this.#underWay = undefined;
      });
    }
    return orCanceled(this.#underWay, signal);
  }
}

export interface Ticket {
  readonly username: string;
  readonly value: Secret;
  readonly csrfToken: Secret;
  readonly obtainedAt: Ticks;
}

const ticketSchema = z.lazy(() =>
  z.looseObject({
    ticket: z.string().min(1),
    CSRFPreventionToken: z.string(),
    username: z.string(),
    NeedTFA: z.union([z.number(), z.string(), z.boolean()]).optional(),
  }),
);

export async function login(exchange: Exchange, clock: Clock, credentials: PasswordCredentials): Promise<Ticket> {
  const { username, password, otp } = credentials;
  const first = await requestTicket(exchange, clock, username, { username, password });
  if (!first.needsSecondFactor) return first.ticket;
  if (!otp) throw secondFactorNeeded(first.where, username);
  // The ticket of the first step is the challenge; the response to it replaces the password.
  const answer = new Secret(`totp:${otp.reveal()}`);
  const second = await requestTicket(exchange, clock, username, {
    username,
    password: answer,
    'tfa-challenge': first.ticket.value,
  });
  if (second.needsSecondFactor) throw secondFactorNeeded(second.where, username);
  return second.ticket;
}

/** A valid ticket can be exchanged for a new one without the password and without a second factor. */
export async function renew(exchange: Exchange, clock: Clock, ticket: Ticket): Promise<Ticket | undefined> {
  try {
    const { username, value } = ticket;
    return (await requestTicket(exchange, clock, username, { username, password: value })).ticket;
  } catch (thrown) {
    if (isFamily(thrown, 'auth')) return undefined;
    throw thrown;
  }
}

/** The server requires the CSRF token for every method but GET, and ignores it there. */
export function ticketIdentity(ticket: Ticket): Identity {
  return {
    principal: ticket.username,
    headers: {
      cookie: `PVEAuthCookie=${percentEncode(ticket.value.reveal())}`,
      csrfpreventiontoken: ticket.csrfToken.reveal(),
    },
    secrets: [ticket.value, ticket.csrfToken],
  };
}

async function requestTicket(exchange: Exchange, clock: Clock, username: string, params: FormParams) {
  const anonymous: Identity = { principal: username, headers: {}, secrets: [] };
  const answer = await exchange.send(
    { method: 'POST', path: apiPath`/access/ticket`, params, isQuestion: true },
    anonymous,
  );
  const data = decodeAnswer(answer, ticketSchema);
  const ticket: Ticket = {
    username: data.username,
    value: new Secret(data.ticket),
    csrfToken: new Secret(data.CSRFPreventionToken),
    obtainedAt: clock.ticks(),
  };
  return { ticket, needsSecondFactor: Number(data.NeedTFA ?? 0) === 1, where: whereOf(answer.context) };
}

function secondFactorNeeded(where: ReturnType<typeof whereOf>, username: string): ProxwrightError {
  return new ProxwrightError({
    code: 'LOGIN_REFUSED',
    detail: `${username} has a second factor, and no valid one-time password was given.`,
    where,
    hint: `Use an API token, which needs no second factor: ${nodeCommand('pveum user token add', [username, 'proxwright'])}`,
  });
}
