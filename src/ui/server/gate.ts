/**
 * Which requests the page's server answers. The link in the terminal holds a token that works once and is exchanged for
 * a cookie. Every other request needs the cookie. Host and Origin must be ours: a page of another site, even one whose
 * DNS name points to this machine, gets nothing. A request that acts must prove that it comes from our page: browsers
 * always send Origin with it, and its content type is one that no form of another site can send.
 */
import { timingSafeEqual } from 'node:crypto';

export interface Asked {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export class Gate {
  readonly #cookie: string;
  #token: string | undefined;
  #port = 0;

  constructor(token: string, cookie: string) {
    this.#token = token;
    this.#cookie = cookie;
  }

  /** Known once the server listens. */
  listensOn(port: number): void {
    this.#port = port;
  }

  /** The name has the port: cookies of two pages on one machine do not replace each other. */
  get #name(): string {
    return `proxwright-${this.#port}`;
  }

  get setCookie(): string {
    return `${this.#name}=${this.#cookie}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** Undefined if the request may be answered; otherwise the status of the refusal. */
  refusal({ method, headers }: Asked, mayAct = false): 403 | 405 | undefined {
    const isAct = mayAct && method === 'POST';
    if (method !== 'GET' && !isAct) return 405;
    const hosts = ['127.0.0.1', 'localhost'].map((name) => `${name}:${this.#port}`);
    const { host, origin } = headers;
    if (typeof host !== 'string' || !hosts.includes(host)) return 403;
    if (origin === undefined ? isAct : origin !== `http://${host}`) return 403;
    if (isAct && headers['content-type'] !== 'application/json') return 403;
    const site = headers['sec-fetch-site'];
    if (isAct && site !== undefined && site !== 'same-origin') return 403;
    return undefined;
  }

  /** The token works once. */
  redeem(token: string): boolean {
    if (this.#token === undefined || !isSame(token, this.#token)) return false;
    this.#token = undefined;
    return true;
  }

  hasCookie({ headers }: Asked): boolean {
    const { cookie } = headers;
    if (typeof cookie !== 'string') return false;
    const prefix = `${this.#name}=`;
    const given = cookie.split(/;\s*/).find((part) => part.startsWith(prefix));
    return given !== undefined && isSame(given.slice(prefix.length), this.#cookie);
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
