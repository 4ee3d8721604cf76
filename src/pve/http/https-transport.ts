/**
 * The real `Transport`: HTTPS, HTTP/1.1, on Node's own client. Compared with undici, Node's `Agent` has documented hooks for
 * when to reuse a connection, never retries a request by itself, and reports when it starts to write a request, which
 * decides `delivered`. The transport follows no redirects and uses no proxy.
 */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { canceledBy } from '../../base/clock.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { Limiter } from '../../base/limiter.ts';
import {
  isStreamBody,
  REQUEST_TIMEOUT_MS,
  type SendOptions,
  type StreamBody,
  type Transport,
  TransportFailure,
  type WireRequest,
  type WireResponse,
} from '../../base/transport.ts';
import { type ConnectionAgent, connectionAgent, IDLE_MS } from './connection-agent.ts';
import { type Endpoint, systemTrust, type Trust } from './endpoint.ts';

export interface HttpsTransportOptions {
  readonly endpoint: Endpoint;
  readonly trust?: Trust | undefined;
  readonly connectTimeoutMs?: number;
  /** How long an unused connection is kept. */
  readonly idleMs?: number;
  /** For calls without a timeout. More than the 30 s after which Proxmox itself responds with 596. */
  readonly defaultTimeoutMs?: number;
  readonly maxConnections?: number;
  readonly maxBodyBytes?: number;
}

export function createHttpsTransport(options: HttpsTransportOptions): Transport {
  const { host, port } = options.endpoint;
  const { trust = systemTrust, connectTimeoutMs = 10_000, idleMs = IDLE_MS } = options;
  const agent = connectionAgent({ host, port, trust, connectTimeoutMs }, idleMs);
  // The agent counts a connection only once it is open; limiting exchanges limits connections from the start.
  const limiter = new Limiter(options.maxConnections ?? 16);
  const limits = {
    timeoutMs: options.defaultTimeoutMs ?? REQUEST_TIMEOUT_MS,
    maxBodyBytes: options.maxBodyBytes ?? 64 * 1024 * 1024,
  };
  return {
    send: (request, sendOptions = {}) =>
      limiter.run(() => exchange({ agent, host, port, ...limits }, request, sendOptions), sendOptions.signal),
    close: async () => agent.destroy(),
  };
}

interface Line {
  readonly agent: ConnectionAgent;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

function exchange(line: Line, wire: WireRequest, options: SendOptions): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted) return reject(canceledBy(signal));
    let delivered: TransportFailure['delivered'] = 'no';
    let timer: NodeJS.Timeout | undefined;

    const request = httpsRequest({
      agent: line.agent,
      host: line.host,
      port: line.port,
      method: wire.method,
      path: wire.target,
      headers: headersOf(wire),
    });
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const giveUp = (error: unknown) =>
      finish(() => {
        // First, because what follows makes the request report an error as well.
        reject(error);
        if (request.socket && delivered === 'perhaps') line.agent.reset(request.socket);
        else request.destroy();
      });
    const fail = (kind: TransportFailure['kind'], message: string, cause?: unknown) =>
      giveUp(new TransportFailure({ kind, delivered, message, cause }));
    const onAbort = () => giveUp(canceledBy(signal));
    signal?.addEventListener('abort', onAbort, { once: true });

    // Before Node's own listener, which sends what is waiting for the connection.
    request.prependOnceListener('socket', () => {
      try {
        options.beforeSend?.();
      } catch (error) {
        return giveUp(error);
      }
      // From here on bytes are sent, and it is not known how far they got.
      delivered = 'perhaps';
      const timeoutMs = options.timeoutMs ?? line.timeoutMs;
      timer = setTimeout(() => fail('timeout', `no complete answer within ${timeoutMs / 1000} s`), timeoutMs);
    });
    request.on('error', (cause: Error) => {
      if (cause instanceof TransportFailure) return finish(() => reject(cause));
      if (isParseError(cause)) return fail('malformed', `the answer is not HTTP: ${cause.message}`, cause);
      fail('cut', 'the connection ended before the answer', cause);
    });
    let answering = false;
    request.once('response', (response) => {
      answering = true;
      line.agent.answered(response.socket, response.statusCode ?? 0);
      collect(response, line.maxBodyBytes, {
        complete: (body) =>
          finish(() => {
            // An early response is a refusal: the server does not read the rest of the body.
            if (!request.writableEnded) request.destroy();
            resolve(answerOf(response, body));
          }),
        broken: fail,
      });
    });
    request.once('close', () => {
      if (!answering) fail('cut', 'the connection ended before the answer');
    });
    sendBody(request, wire.body, { onSent: options.onSent, isAnswered: () => answering }).catch(giveUp);
  });
}

async function sendBody(request: ClientRequest, body: WireRequest['body'], watch: SendWatch): Promise<void> {
  if (isStreamBody(body)) await sendStream(request, body, watch);
  // Written together with the headers, so that a short request fits in one packet.
  else request.end(body);
}

/** Proxmox rejects chunked bodies, so the length is always stated, even if it is 0. */
function headersOf(wire: WireRequest): Record<string, string> {
  const takesBody = wire.method === 'POST' || wire.method === 'PUT';
  const { body = '' } = wire;
  if (wire.body === undefined && !takesBody) return { ...wire.headers };
  if (!isStreamBody(body)) return { ...wire.headers, 'content-length': String(Buffer.byteLength(body)) };
  // Proxmox closes the connection after an upload, so it must not be reused.
  return { ...wire.headers, 'content-length': String(body.sizeBytes), connection: 'close' };
}

interface Outcome {
  complete(body: string): void;
  broken(kind: TransportFailure['kind'], message: string, cause?: unknown): void;
}

function collect(response: IncomingMessage, maxBodyBytes: number, outcome: Outcome): void {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  response.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBodyBytes) return outcome.broken('malformed', `the answer is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  });
  response.once('error', (cause) => {
    if (isParseError(cause)) return outcome.broken('malformed', `the answer is not HTTP: ${cause.message}`, cause);
    outcome.broken('cut', 'the connection ended in the middle of the answer', cause);
  });
  response.once('end', () => {
    if (response.complete) return outcome.complete(Buffer.concat(chunks).toString('utf8'));
    outcome.broken('cut', 'the connection ended in the middle of the answer');
  });
}

function answerOf(response: IncomingMessage, body: string): WireResponse {
  const headers = Object.entries(response.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]);
  return {
    status: response.statusCode ?? 0,
    // Node reads the status line as Latin-1; Proxmox writes UTF-8.
    reason: Buffer.from(response.statusMessage ?? '', 'latin1').toString('utf8'),
    headers: Object.fromEntries(headers),
    body,
  };
}

function isParseError(error: Error): boolean {
  return 'code' in error && String(error.code).startsWith('HPE_');
}

interface SendWatch {
  readonly onSent: ((sentBytes: number) => void) | undefined;
  /** The server may refuse a body before it has read all of it. */
  isAnswered(): boolean;
}

/**
 * Writes a body that does not fit into memory, one chunk at a time, each after the connection has accepted the one before.
 * The length was stated beforehand, so a source that yields more or less is an error. Rejects with errors of the source;
 * the request itself reports errors of the connection.
 */
async function sendStream(request: ClientRequest, body: StreamBody, watch: SendWatch): Promise<void> {
  let sentBytes = 0;
  for await (const chunk of body.open()) {
    if (request.destroyed || watch.isAnswered()) return;
    sentBytes += chunk.byteLength;
    if (sentBytes > body.sizeBytes) throw changedMeanwhile(body.sizeBytes, 'more');
    if (!request.write(chunk)) await drained(request);
    watch.onSent?.(sentBytes);
  }
  if (request.destroyed || watch.isAnswered()) return;
  if (sentBytes < body.sizeBytes) throw changedMeanwhile(body.sizeBytes, `only ${sentBytes}`);
  request.end();
}

/** A destroyed request never drains. */
async function drained(request: ClientRequest): Promise<void> {
  const waiting = new AbortController();
  const either = [
    once(request, 'drain', { signal: waiting.signal }),
    once(request, 'close', { signal: waiting.signal }),
  ];
  for (const each of either) each.catch(() => {});
  // The request reports its errors itself.
  await Promise.race(either).catch(() => {});
  waiting.abort();
}

function changedMeanwhile(sizeBytes: number, found: string): ProxwrightError {
  return new ProxwrightError({
    code: 'UNREADABLE_FILE',
    detail: `The file had ${sizeBytes} bytes, but ${found} were read: it changed during the upload. The server has discarded it.`,
    hint: 'Try again when no other program writes to it.',
  });
}
