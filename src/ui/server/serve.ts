/**
 * Serves a page on a loopback address: its files, the data of its routes, and its live updates. The gate decides which
 * requests are answered. A page acts only if its routes have an `act`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Random, randomHex } from '../../base/random.ts';
import { safeJson } from '../../base/text/safe-text.ts';
import { Gate } from './gate.ts';

export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

export interface ServeDeps {
  readonly files: PageFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface PageServer {
  /** Works once. */
  readonly link: string;
  /** Resolves when the link is used. */
  readonly opened: Promise<void>;
  /** Pages that watch something right now. */
  readonly watching: number;
  /** Open connections. */
  readonly connections: number;
  close(): Promise<void>;
}

/** The response to a path; undefined if there is none. */
export type Reply =
  | { readonly kind: 'json'; readonly value: unknown }
  /** A page of its own, with its style inside. */
  | { readonly kind: 'page'; readonly html: string }
  /** The newest value whenever it has changed, for as long as the page stays. */
  | { readonly kind: 'live'; look(seen: string | undefined): Promise<Look | undefined> };

export interface Look {
  /** Changes whenever there is something new. */
  readonly mark: string;
  readonly value: unknown;
}

export interface PageRoutes {
  /** The parts of the path, decoded. */
  show(parts: readonly string[]): Promise<Reply | undefined>;
  /** For a page that may act: the input is not checked yet. */
  act?(parts: readonly string[], sent: unknown): Promise<Reply | undefined>;
}

const HOST = '127.0.0.1';
const SECRET_DIGITS = 32;
const MOST_PARTS = 4;
const MOST_SENT_BYTES = 10_000;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Allows exactly the style inside the page. */
const STYLED_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export async function serveRoutes(routes: PageRoutes, deps: ServeDeps, port = 0): Promise<PageServer> {
  const [token, cookie] = [randomHex(deps.random, SECRET_DIGITS), randomHex(deps.random, SECRET_DIGITS)];
  const gate = new Gate(token, cookie);
  const stop = new AbortController();
  let isOpened = () => {};
  const opened = new Promise<void>((resolve) => {
    isOpened = resolve;
  });
  const watchers = new Watchers(deps.clock, stop.signal);
  const server = createServer((request, response) => {
    void answer(request, response, { ...deps, routes, gate, watchers, isOpened }).catch((error: unknown) => {
      deps.log.log('debug', `The page could not be served: ${error instanceof Error ? error.message : String(error)}`);
      if (!response.headersSent) send(response, 500, 'text/plain', 'This could not be read.');
      else response.destroy();
    });
  });
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    socket.on('close', () => connections--);
  });
  await listening(server, port);
  const bound = (server.address() as AddressInfo).port; // a server that listens on a port
  gate.listensOn(bound);
  return {
    opened,
    link: `http://${HOST}:${bound}/?token=${token}`,
    get watching() {
      return watchers.count;
    },
    get connections() {
      return connections;
    },
    close: () => {
      stop.abort();
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, resolve);
  });
}

interface Context extends ServeDeps {
  readonly routes: PageRoutes;
  readonly gate: Gate;
  readonly watchers: Watchers;
  isOpened(): void;
}

async function answer(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { gate, files, routes } = context;
  const refusal = gate.refusal(request, routes.act !== undefined);
  if (refusal !== undefined) return send(response, refusal, 'text/plain', 'Refused.');
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${HOST}`);
  const token = searchParams.get('token');
  if (pathname === '/' && token !== null && gate.redeem(token)) {
    response.writeHead(303, { ...HEADERS, location: '/', 'set-cookie': gate.setCookie });
    response.end();
    context.isOpened();
    return;
  }
  if (!gate.hasCookie(request)) {
    return send(
      response,
      403,
      'text/plain',
      'Open the link that the command printed. It works once; run the command again for a new one.',
    );
  }
  const parts = pathname.split('/').slice(1).map(decoded);
  const known = parts.filter((part) => part !== undefined);
  if (parts.length > MOST_PARTS || known.length < parts.length) return missing(response);
  if (request.method === 'POST') {
    const sent = await receivedJson(request);
    if (!sent) return send(response, 400, 'text/plain', 'This is not JSON, or too long.');
    return reply(response, await routes.act?.(known, sent.value), context);
  }
  if (pathname === '/') return send(response, 200, 'text/html', files.html);
  if (pathname === '/app.js') return send(response, 200, 'text/javascript', files.script);
  if (pathname === '/app.css') return send(response, 200, 'text/css', files.style);
  if (pathname === '/icon.svg') return send(response, 200, 'image/svg+xml', files.icon);
  return reply(response, await routes.show(known), context);
}

async function reply(response: ServerResponse, given: Reply | undefined, { watchers }: Context): Promise<void> {
  if (given?.kind === 'live') return watchers.add(given, response);
  if (given?.kind === 'page') return send(response, 200, 'text/html', given.html, STYLED_POLICY);
  if (given?.value === undefined) return missing(response);
  return send(response, 200, 'application/json', safeJson(given.value));
}

/** Undefined if the part is not text. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Undefined if it is no JSON. */
async function receivedJson(request: IncomingMessage): Promise<{ readonly value: unknown } | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MOST_SENT_BYTES) return undefined;
    chunks.push(part);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString()) };
  } catch {
    return undefined;
  }
}

const missing = (response: ServerResponse) => send(response, 404, 'text/plain', 'There is no such thing.');

function send(response: ServerResponse, status: number, type: string, text: string, policy = POLICY): void {
  response.writeHead(status, {
    ...HEADERS,
    'content-type': `${type}; charset=utf-8`,
    'content-security-policy': policy,
  });
  response.end(text);
}

const LOOK_MS = 500;
/** A page that reads more slowly than this misses values in between; it always gets the newest one in the end. */
const MOST_UNREAD_BYTES = 4_000_000;

/** Pages that watch: each receives the newest value whenever it has changed. */
class Watchers {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #count = 0;

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  get count(): number {
    return this.#count;
  }

  async add({ look }: Extract<Reply, { readonly kind: 'live' }>, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, this.#signal]);
    response.on('close', () => gone.abort());
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream', 'content-security-policy': POLICY });
    response.flushHeaders();
    this.#count++;
    let seen: string | undefined;
    try {
      while (!signal.aborted) {
        const next = response.writableLength < MOST_UNREAD_BYTES ? await look(seen) : undefined;
        if (next) {
          response.write(`data: ${safeJson(next.value)}\n\n`);
          seen = next.mark;
        }
        await this.#clock.sleep(LOOK_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#count--;
      response.end();
    }
  }
}
