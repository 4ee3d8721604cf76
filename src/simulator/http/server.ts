/**
 * The simulator on a real port: HTTPS in front of `Simulator.handle`, with its own certificate and a redirect for plain
 * HTTP. It decides everything that a client can notice about a connection (reason phrases, when it is kept and when it
 * is closed), and nothing about the content of an answer. [source HS AnyEvent.pm; PM Service/pveproxy.pm]
 */
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { generate } from 'selfsigned';
import { type Instant, systemClock } from '../../base/clock.ts';
import { isCanceled } from '../../base/errors.ts';
import { parseGuestPortPath, SIMULATOR_PATH } from '../../base/simulator-paths.ts';
import { TransportFailure, type WireRequest, type WireResponse } from '../../base/transport.ts';
import type { Simulator } from '../core/simulator.ts';
import { isPortOpen } from '../guests/addresses.ts';
import { bodyOf, headOf, parseHead, reasonOnWire } from './wire-message.ts';

/** What the server needs of a simulator: it passes requests on and asks nothing else of it. */
export type ServedSimulator = Pick<Simulator, 'handle' | 'runtime'>;

interface ServeOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Created for the host unless given. */
  readonly certificate?: ServerCertificate;
  /** How much faster than real time its clock runs; 1 unless given. */
  readonly speed?: number;
}

export interface SimulatorServer {
  /** `https://127.0.0.1:8006`. */
  readonly endpoint: string;
  readonly port: number;
  /** SHA-256 of the certificate. */
  readonly fingerprint: string;
  /** PEM, for clients that use a certificate authority instead of a fingerprint. */
  readonly certificate: string;
  /** Stops accepting, lets running requests end for a moment, then cuts what is left. */
  close(): Promise<void>;
}

/** Rule [source PM Service/pveproxy.pm server_config]: requests on one connection, and how long it may be idle. */
const REQUESTS_PER_CONNECTION = 100;
const IDLE_MS = 5_000;
/** Rule [source HS AnyEvent.pm unshift_read_header]: from this size on a header is dropped without an answer. */
const LARGEST_HEADER_BYTES = 8 * 1024;
const HEADER_LINES_LIMIT = 64;
const CLOSE_GRACE_MS = 1_000;

export async function serveSimulator(simulator: ServedSimulator, options: ServeOptions): Promise<SimulatorServer> {
  const certificate = options.certificate ?? (await createCertificate(options.host, systemClock.now()));
  const server = createServer({
    key: certificate.key,
    cert: certificate.certificate,
    maxHeaderSize: LARGEST_HEADER_BYTES,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: IDLE_MS,
    connectionsCheckingInterval: 1_000,
  });
  server.maxHeadersCount = 0; // counted here: Node would drop the rest and continue
  acceptRequests(server, simulator, options.speed ?? 1);
  const sockets = new Set<Socket>();
  serveRedirects(server, IDLE_MS);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  return {
    endpoint: `https://${urlHost(options.host)}:${port}`,
    port,
    fingerprint: certificate.fingerprint,
    certificate: certificate.certificate,
    close: () => close(server, sockets),
  };
}

/** A server on all addresses is reached on the loopback one, at least from here. */
function urlHost(host: string): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return reachable.includes(':') ? `[${reachable}]` : reachable;
}

function acceptRequests(server: Server, simulator: ServedSimulator, speed: number): void {
  const servedOn = new WeakMap<Duplex, number>();
  server.on('request', (message: IncomingMessage, response: ServerResponse) => {
    const count = (servedOn.get(message.socket) ?? 0) + 1;
    servedOn.set(message.socket, count);
    const own = ownAnswer(simulator, speed, message);
    if (own) return void response.setHeader('content-type', 'application/json').end(JSON.stringify(own));
    serve(simulator, message, response, count >= REQUESTS_PER_CONNECTION).catch((error: unknown) => {
      if (!(error instanceof TransportFailure)) {
        simulator.runtime.log.log('error', `${message.method} ${message.url}: ${String(error)}`);
      }
      message.socket.destroy();
    });
  });
  server.on('connect', (message: IncomingMessage, socket: Duplex) => {
    answerRaw(simulator, { method: 'CONNECT', target: message.url ?? '', headers: {} }, socket);
  });
  server.on('clientError', (error: Error & { code?: string; rawPacket?: Buffer }, socket: Duplex) => {
    // Rule [source HS AnyEvent.pm process_header]: an unknown method is refused with an answer; other nonsense just ends the connection.
    const request = error.code === 'HPE_INVALID_METHOD' && error.rawPacket && parseHead(error.rawPacket);
    if (request) answerRaw(simulator, request, socket);
    else socket.destroy();
  });
}

async function serve(
  simulator: ServedSimulator,
  message: IncomingMessage,
  response: ServerResponse,
  isLast: boolean,
): Promise<void> {
  if (message.rawHeaders.length / 2 >= HEADER_LINES_LIMIT) return void message.socket.destroy();
  const body = await bodyOf(message);
  const answer = await simulator.handle({
    method: message.method ?? '',
    target: message.url ?? '',
    headers: headersOf(message),
    ...(body && { body }),
  });
  if (response.destroyed) return;
  message.resume(); // discard the rest of the body, so that the client gets to the answer
  response.sendDate = false; // the answer has the simulated time
  // Rule [recorded version-and-auth]: an answer without a body has no length; the end of the connection ends it.
  if (answer.body === '') for (const name of ['content-length', 'transfer-encoding']) response.removeHeader(name);
  const headers = isLast ? { ...answer.headers, connection: 'close' } : answer.headers;
  response.writeHead(answer.status, reasonOnWire(answer.reason), headers);
  // As bytes: Node would put head and text into one string and encode the head as UTF-8 once more.
  response.end(Buffer.from(answer.body));
}

/** Not part of Proxmox: see `base/simulator-paths.ts`. */
function ownAnswer(
  simulator: ServedSimulator,
  speed: number,
  { method, url = '' }: IncomingMessage,
): object | undefined {
  if (method !== 'GET') return undefined;
  if (url === SIMULATOR_PATH) return { speed };
  const asked = parseGuestPortPath(url);
  return asked && { open: isPortOpen(simulator.runtime, asked.address, asked.port) };
}

/** Writes the answer by hand where Node's parser hands over a bare socket; every such answer is a refusal. */
function answerRaw(simulator: ServedSimulator, request: WireRequest, socket: Duplex): void {
  const write = (answer: WireResponse) =>
    socket.end(Buffer.concat([Buffer.from(headOf(answer), 'latin1'), Buffer.from(answer.body)]));
  simulator.handle(request).then(write, () => socket.destroy());
}

function headersOf(message: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

function listen(server: Server, { host, port }: ServeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const patience = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const tooLate = systemClock.sleep(CLOSE_GRACE_MS, patience.signal).catch((error: unknown) => {
    if (!isCanceled(error)) throw error;
  });
  await Promise.race([closed, tooLate]);
  patience.abort();
  for (const socket of sockets) socket.destroy();
  await closed;
}

/** The first byte of every TLS connection: a handshake record. */
const TLS_HANDSHAKE = 0x16;

/** Inspects the first bytes before the TLS handshake. */
function serveRedirects(server: Server, firstByteWithinMs: number): void {
  const startTls = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    socket.setTimeout(firstByteWithinMs, () => socket.destroy());
    socket.once('readable', () => {
      const first: unknown = socket.read();
      if (!(first instanceof Buffer) || first.length === 0) return void socket.destroy();
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      if (first[0] !== TLS_HANDSHAKE) return redirect(socket, first);
      socket.unshift(first);
      for (const listener of startTls) listener.call(server, socket);
    });
  });
}

/** Rule [source HS AnyEvent.pm ensure_tls_connection]: 301 where a repeated GET is harmless, 308 otherwise, then the end. */
function redirect(socket: Socket, first: Buffer): void {
  const request = parseHead(first);
  const host = request?.headers.host;
  if (!request || host === undefined) return void socket.destroy();
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const status = isRead ? '301 Moved Permanently' : '308 Permanent Redirect';
  socket.end(`HTTP/1.1 ${status}\r\nLocation: https://${host}${request.target}\r\nConnection: close\r\n\r\n`);
}

export interface ServerCertificate {
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
  /** SHA-256, as `AA:BB:…`: what clients pin. */
  readonly fingerprint: string;
}

const DAY_MS = 86_400_000;

/** `now` is real time, because it is compared with the clocks of real clients. */
export async function createCertificate(host: string, now: Instant): Promise<ServerCertificate> {
  const names = [...new Set(['localhost', '127.0.0.1', '::1', host])];
  const altNames = names.map((name) =>
    isIP(name) === 0 ? { type: 2 as const, value: name } : { type: 7 as const, ip: name },
  );
  const pems = await generate([{ name: 'commonName', value: 'Proxwright simulator' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + 365 * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames },
    ],
  });
  return {
    key: pems.private,
    certificate: pems.cert,
    fingerprint: new X509Certificate(pems.cert).fingerprint256,
  };
}
