/**
 * The real `Transport`: HTTPS, HTTP/1.1, on Node's own client. undici was the other candidate; Node's `Agent` has
 * documented hooks for when a connection may be reused, never repeats a request by itself, and hands us the moment at
 * which a request starts to be written, which is what `delivered` hangs on. It follows no redirects and uses no proxy.
 */
import { Buffer } from 'node:buffer';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { canceledBy } from '../../base/clock.ts';
import { Limiter } from '../../base/limiter.ts';
import {
  isStreamBody,
  type SendOptions,
  type Transport,
  TransportFailure,
  type WireRequest,
  type WireResponse,
} from '../../base/transport.ts';
import { ConnectionAgent, IDLE_MS } from './connection-agent.ts';
import type { Endpoint } from './endpoint.ts';
import { sendStream } from './send-stream.ts';
import { systemTrust, type Trust } from './trust.ts';

export interface HttpsTransportOptions {
  readonly endpoint: Endpoint;
  readonly trust?: Trust | undefined;
  readonly connectTimeoutMs?: number;
  /** How long an unused connection is kept. */
  readonly idleMs?: number;
  /** For calls that name no time-out of their own. Above the 30 s after which Proxmox itself answers 596. */
  readonly defaultTimeoutMs?: number;
  readonly maxConnections?: number;
  readonly maxBodyBytes?: number;
}

export function createHttpsTransport(options: HttpsTransportOptions): Transport {
  const { host, port } = options.endpoint;
  const { trust = systemTrust, connectTimeoutMs = 10_000, idleMs = IDLE_MS } = options;
  const agent = new ConnectionAgent({ host, port, trust, connectTimeoutMs }, idleMs);
  // The agent counts a connection only once it is open; counting exchanges bounds connections from the first moment.
  const limiter = new Limiter(options.maxConnections ?? 16);
  const limits = {
    timeoutMs: options.defaultTimeoutMs ?? 60_000,
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
        request.destroy();
        reject(error);
      });
    const fail = (kind: TransportFailure['kind'], message: string, cause?: unknown) =>
      giveUp(new TransportFailure({ kind, delivered, message, cause }));
    const onAbort = () => giveUp(canceledBy(signal));
    signal?.addEventListener('abort', onAbort, { once: true });

    request.once('socket', () => {
      // From here on bytes are under way, and nobody can tell how far they got.
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
            // Whoever is answered early has been refused: the rest of the body is not wanted.
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

async function sendBody(
  request: ClientRequest,
  body: WireRequest['body'],
  watch: Parameters<typeof sendStream>[2],
): Promise<void> {
  if (isStreamBody(body)) await sendStream(request, body, watch);
  // Written in one piece together with the headers, so that a short request leaves in one packet.
  else request.end(body);
}

/** Proxmox refuses chunked bodies, so the length is always stated, also where it is nothing. */
function headersOf(wire: WireRequest): Record<string, string> {
  const takesBody = wire.method === 'POST' || wire.method === 'PUT';
  const { body = '' } = wire;
  if (wire.body === undefined && !takesBody) return { ...wire.headers };
  if (!isStreamBody(body)) return { ...wire.headers, 'content-length': String(Buffer.byteLength(body)) };
  // Proxmox closes the connection behind an upload; nothing else must be written into it.
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
