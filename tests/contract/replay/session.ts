/** The identities of a replay: the tokens and the ticket behind the names in recorded steps, and the sending itself. */
import type { Transport, WireRequest } from '../../../src/base/transport.ts';
import { buildRequest } from './request.ts';
import { type Answer, type Json, member, type RequestParts } from './types.ts';

export interface Credentials {
  /** `user@realm!id=secret` of the words `root`, `admin` and `noacl`. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly login: { readonly username: string; readonly password: string };
}

type Headers = Readonly<Record<string, string>>;

const NOBODYS_SECRET = '00000000-0000-4000-8000-000000000000';
const FORGED_TICKET = 'PVE:root@pam:00000000::AAAA';
const FORGED_CSRF_TOKEN = `00000000:${'A'.repeat(43)}`;

/** One scenario's identities; tokens made by its steps are added as they appear. */
export class Session {
  readonly #transport: Transport;
  readonly #login: Credentials['login'];
  readonly #tokens: Map<string, string>;
  #ticket: { readonly ticket: string; readonly csrf: string } | undefined;

  constructor(transport: Transport, credentials: Credentials) {
    this.#transport = transport;
    this.#login = credentials.login;
    this.#tokens = new Map(Object.entries(credentials.tokens));
  }

  addToken(word: string, token: string): void {
    this.#tokens.set(word, token);
  }

  async send(parts: RequestParts): Promise<Answer> {
    return this.#exchange(buildRequest(parts, await this.#authHeaders(parts)));
  }

  async #authHeaders(parts: RequestParts): Promise<Headers> {
    const who = parts.auth ?? 'root';
    switch (who) {
      case 'none':
        return {};
      case 'ticket':
        return this.#ticketHeaders(parts.csrf);
      case 'badticket':
        return { ...ticketCookie(FORGED_TICKET), csrfpreventiontoken: 'x' };
      case 'bad':
        return tokenHeader(`${this.#tokenOf('root').replace(/=.*/, '')}=${NOBODYS_SECRET}`, parts);
      case 'unknown':
        return tokenHeader(`root@pam!nosuch=${NOBODYS_SECRET}`, parts);
      case 'nouser':
        return tokenHeader(`ghost@pve!x=${NOBODYS_SECRET}`, parts);
      default:
        return tokenHeader(this.#tokenOf(who), parts);
    }
  }

  #tokenOf(word: string): string {
    const token = this.#tokens.get(word);
    if (token === undefined) throw new Error(`no token is known for "${word}"`);
    return token;
  }

  async #ticketHeaders(csrf: RequestParts['csrf']): Promise<Headers> {
    this.#ticket ??= await this.#logIn();
    const cookie = ticketCookie(this.#ticket.ticket);
    switch (csrf) {
      case 'none':
        return cookie;
      case 'wrong':
        return { ...cookie, csrfpreventiontoken: FORGED_CSRF_TOKEN };
      case undefined:
        return { ...cookie, csrfpreventiontoken: this.#ticket.csrf };
    }
  }

  async #logIn() {
    const { username, password } = this.#login;
    const parts: RequestParts = { method: 'POST', path: '/access/ticket', params: { username, password } };
    const answer = await this.#exchange(buildRequest(parts, {}));
    const data = member(answer.body, 'data');
    const ticket = member(data, 'ticket');
    const csrf = member(data, 'CSRFPreventionToken');
    if (answer.status !== 200 || typeof ticket !== 'string' || typeof csrf !== 'string') {
      throw new Error(`login failed: ${answer.status} ${answer.reason}`);
    }
    return { ticket, csrf };
  }

  /** No answer is an answer too: status 0, which no recording contains, with the failure as its reason. */
  async #exchange(request: WireRequest): Promise<Answer> {
    try {
      const response = await this.#transport.send(request);
      return { status: response.status, reason: response.reason, body: parseBody(response.body) };
    } catch (error) {
      return { status: 0, reason: `no answer: ${error instanceof Error ? error.message : String(error)}`, body: null };
    }
  }
}

function tokenHeader(token: string, parts: RequestParts): Headers {
  return { authorization: `PVEAPIToken${parts.authStyle === 'space' ? ' ' : '='}${token}` };
}

const ticketCookie = (ticket: string) => ({ cookie: `PVEAuthCookie=${encodeURIComponent(ticket)}` });

function parseBody(text: string): Json {
  if (text === '') return null;
  try {
    const parsed: Json = JSON.parse(text);
    return parsed;
  } catch {
    return text;
  }
}
