/**
 * The server of the page: on a loopback address, read-only. It looks at what is recorded and asks the cluster; it takes no
 * lock and writes nothing, so that a run is neither slowed nor failed by a page that watches it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Random, randomHex } from '../../base/random.ts';
import { safeJson } from '../../base/text/safe-text.ts';
import { Gate } from './gate.ts';
import { type PageSource, VIEWS } from './source.ts';

export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

export interface PageServerDeps {
  readonly source: PageSource;
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
  /** Pages that watch a run right now. */
  readonly watching: number;
  /** Open connections. */
  readonly connections: number;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const SECRET_DIGITS = 32;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A report has its style inside; its own policy allows exactly that one. */
const REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export async function servePage(deps: PageServerDeps, port = 0): Promise<PageServer> {
  const [token, cookie] = [randomHex(deps.random, SECRET_DIGITS), randomHex(deps.random, SECRET_DIGITS)];
  const gate = new Gate(token, cookie);
  const stop = new AbortController();
  let isOpened = () => {};
  const opened = new Promise<void>((resolve) => {
    isOpened = resolve;
  });
  const watchers = new Watchers(deps, stop.signal);
  const server = createServer((request, response) => {
    void answer(request, response, { ...deps, gate, watchers, isOpened }).catch((error: unknown) => {
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

interface Context extends PageServerDeps {
  readonly gate: Gate;
  readonly watchers: Watchers;
  isOpened(): void;
}

async function answer(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { gate, files } = context;
  const refusal = gate.refusal(request);
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
      'Open the link that `proxwright ui` printed. It works once; run the command again for a new one.',
    );
  }
  if (pathname === '/') return send(response, 200, 'text/html', files.html);
  if (pathname === '/app.js') return send(response, 200, 'text/javascript', files.script);
  if (pathname === '/app.css') return send(response, 200, 'text/css', files.style);
  if (pathname === '/icon.svg') return send(response, 200, 'image/svg+xml', files.icon);
  return answerData(pathname, response, context);
}

async function answerData(pathname: string, response: ServerResponse, { source, watchers }: Context): Promise<void> {
  const parts = pathname.split('/').slice(1).map(decoded);
  const [area, stack = '', name = '', runId = ''] = parts;
  if (parts.length > 4 || parts.includes(undefined)) return missing(response);
  if (area === 'api' && stack === '') return json(response, await source.stacks());
  if (area === 'api' && name === 'live' && runId === '') return watchers.add(stack, response);
  if (area === 'api' && name === 'run' && runId !== '') return json(response, await source.run(stack, runId));
  if (area === 'report' && name !== '' && runId === '') {
    const page = await source.report(stack, name);
    return page === undefined ? missing(response) : send(response, 200, 'text/html', page, REPORT_POLICY);
  }
  const view = VIEWS.find((each) => each === name);
  if (area !== 'api' || !view || runId !== '') return missing(response);
  return json(response, await source.view(stack, view));
}

/** Undefined if the part is not text. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function json(response: ServerResponse, value: unknown): void {
  if (value === undefined) missing(response);
  else send(response, 200, 'application/json', safeJson(value));
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
/** A page that reads more slowly than this misses pictures in between; it always gets the newest one in the end. */
const MOST_UNREAD_BYTES = 4_000_000;

/** Pages that watch a run: each is told the newest state of the newest run whenever its journal has grown. */
class Watchers {
  readonly #deps: Pick<PageServerDeps, 'source' | 'clock'>;
  readonly #signal: AbortSignal;
  #count = 0;

  constructor(deps: Pick<PageServerDeps, 'source' | 'clock'>, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  get count(): number {
    return this.#count;
  }

  async add(stack: string, response: ServerResponse): Promise<void> {
    const { source, clock } = this.#deps;
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, this.#signal]);
    response.on('close', () => gone.abort());
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream', 'content-security-policy': POLICY });
    response.flushHeaders();
    this.#count++;
    let seen: string | undefined;
    try {
      while (!signal.aborted) {
        const pulse = await source.pulse(stack);
        if (pulse !== undefined && pulse !== seen && response.writableLength < MOST_UNREAD_BYTES) {
          const run = await source.run(stack, 'last');
          if (run) response.write(`data: ${safeJson(run)}\n\n`);
          seen = pulse;
        }
        await clock.sleep(LOOK_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#count--;
      response.end();
    }
  }
}
