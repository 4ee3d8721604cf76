/**
 * Who we are for the length of a client's life. The first login is proved by one `GET /version` before anything else
 * goes out: a refused login costs 3 s at the server, so it is asked once, shared by all who wait, and remembered.
 */
import { type Clock, type Instant, orCanceled } from '../../base/clock.ts';
import { isFamily, type ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type Answer, decodeAnswer } from '../answer.ts';
import { type PveVersion, versionSchema } from '../api/version.ts';
import type { Call, CallOptions, Exchange, Identity } from '../exchange.ts';
import { apiPath } from '../path.ts';
import { type Credentials, principalOf } from './credentials.ts';
import { login, renew, type Ticket, ticketIdentity } from './ticket.ts';

export interface SessionParts {
  readonly exchange: Exchange;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Tickets live for two hours (pve-access-control AccessControl.pm $ticket_lifetime). */
const RENEW_AFTER_MS = 90 * 60_000;
/** How long a refusal stands for the requests that follow it. */
const REMEMBER_REFUSAL_MS = 60_000;

export class Session {
  readonly principal: string;
  readonly #parts: SessionParts;
  readonly #proof = new Shared<PveVersion>();
  readonly #ticketing = new Shared<Ticket>();
  #version: PveVersion | undefined;
  #ticket: Ticket | undefined;
  #refusal: { readonly error: ProxwrightError; readonly until: Instant } | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.principal = principalOf(parts.credentials);
  }

  /** Proves the credentials with one request, however many ask at once; afterwards it costs nothing. */
  async authenticate(options: CallOptions = {}): Promise<PveVersion> {
    this.#throwRememberedRefusal();
    if (this.#version) return this.#version;
    return this.#proof.run(() => this.#prove(), options.signal);
  }

  async send(call: Call, options: CallOptions = {}): Promise<Answer> {
    await this.authenticate(options);
    this.#throwRememberedRefusal();
    return this.#sendAuthorised(call, options);
  }

  async #prove(): Promise<PveVersion> {
    // The proof belongs to everybody who waits for it, so no single caller's signal may end it.
    const call: Call = { method: 'GET', path: apiPath`/version` };
    const version = decodeAnswer(await this.#sendAuthorised(call, {}), versionSchema);
    this.#version = version;
    this.#parts.logger.log('debug', `logged in as ${this.principal}`, { version: version.version });
    return version;
  }

  async #sendAuthorised(call: Call, options: CallOptions): Promise<Answer> {
    const ticket = await this.#currentTicket(options);
    try {
      return await this.#parts.exchange.send(call, this.#identity(ticket), options);
    } catch (thrown) {
      if (!isRefusal(thrown)) throw thrown;
      if (!ticket) throw this.#remember(thrown);
      // A 401 means that nothing was carried out, so the same request may go out again, once.
      if (this.#ticket === ticket) this.#ticket = undefined;
      const fresh = await this.#currentTicket(options);
      return this.#parts.exchange.send(call, this.#identity(fresh), options);
    }
  }

  async #currentTicket(options: CallOptions): Promise<Ticket | undefined> {
    const { credentials, clock } = this.#parts;
    if (credentials.kind === 'token') return undefined;
    const ticket = this.#ticket;
    if (ticket && clock.now() - ticket.obtainedAt < RENEW_AFTER_MS) return ticket;
    this.#throwRememberedRefusal();
    return this.#ticketing.run(async () => {
      const { exchange, logger } = this.#parts;
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
    const { credentials } = this.#parts;
    if (ticket) return ticketIdentity(ticket);
    const { principal } = this;
    if (credentials.kind !== 'token') return { principal, headers: {}, secrets: [] };
    const authorization = `PVEAPIToken=${credentials.tokenId}=${credentials.secret.reveal()}`;
    return { principal, headers: { authorization }, secrets: [credentials.secret] };
  }

  #remember(error: ProxwrightError): ProxwrightError {
    this.#version = undefined;
    this.#refusal = { error, until: this.#parts.clock.now() + REMEMBER_REFUSAL_MS };
    return error;
  }

  #throwRememberedRefusal(): void {
    if (this.#refusal && this.#parts.clock.now() < this.#refusal.until) throw this.#refusal.error;
  }
}

function isRefusal(thrown: unknown): thrown is ProxwrightError {
  return isFamily(thrown, 'auth') && (thrown.code === 'LOGIN_REFUSED' || thrown.code === 'TICKET_EXPIRED');
}

/** One piece of work under way at a time; whoever asks meanwhile gets the same result. */
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
