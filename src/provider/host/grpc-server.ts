/**
 * The part of gRPC that a provider needs, on node:http2: calls with one message each way, and calls that are only held
 * open. Does not interpret messages: bytes in, bytes out. A handler gets a signal that fires when no client waits for
 * its answer any more: the client cancelled the call, its deadline passed, or the connection is gone.
 */
import { X509Certificate } from 'node:crypto';
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type Server, type TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../../base/clock.ts';
import { canceled } from '../../base/errors.ts';
import { BodyCollector, frame, STATUS, type Status, timeoutMs, type Unframed } from './grpc-wire.ts';

export type Method =
  | {
      readonly kind: 'unary';
      handle(message: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
      afterReply?(): void;
    }
  /** Stays open until the client ends it; nothing is sent. */
  | { readonly kind: 'held'; onEnd?(): void };

type UnaryMethod = Extract<Method, { kind: 'unary' }>;
type HeldMethod = Extract<Method, { kind: 'held' }>;

/** By path, `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>;

export interface TlsOptions {
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The only certificate that a client may show. */
  readonly clientCertificatePem: string;
}

export interface GrpcServerOptions {
  readonly methods: Methods;
  /** Further unary methods. Loaded with the first call of one that is not in `methods`. */
  readonly loadMore?: () => Promise<Methods>;
  /** Called with the path of each unary method before it is handled. */
  readonly onCall?: ((path: string) => void) | undefined;
  readonly tls?: TlsOptions;
  /** The largest message that is accepted. */
  readonly maxMessageBytes?: number;
  /** Measures deadlines. */
  readonly clock?: Clock;
  /** Called when the last connection is gone. */
  readonly onLastSessionClosed?: () => void;
}

export interface GrpcServer {
  accept(socket: Socket): void;
  /** Calls whose handlers have not ended. */
  readonly pendingCalls: number;
  /** Whether a client has ever connected. */
  readonly hasBeenUsed: boolean;
  /** Ends every connection. */
  close(): void;
}

const MEBIBYTE = 2 ** 20;
/** The limit of providers made with HashiCorp's own kit, terraform-plugin-go. */
const MAX_MESSAGE_BYTES = 256 * MEBIBYTE;
/** A large message arrives in one go instead of in pieces of 64 KiB, each of them acknowledged. */
const WINDOW_BYTES = 16 * MEBIBYTE;
/** In MiB. Node's default of 10 would refuse messages that a host may well send. */
const SESSION_MEMORY_MIB = 4096;

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' } as const;

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const sessions = new Set<ServerHttp2Session>();
  let pendingCalls = 0;
  let hasBeenUsed = false;
  const server = createServer({ maxSessionMemory: SESSION_MEMORY_MIB, settings: { initialWindowSize: WINDOW_BYTES } });
  const entrance = options.tls ? securing(options.tls, (secured) => server.emit('connection', secured)) : server;
  server.on('session', (session) => {
    sessions.add(session);
    hasBeenUsed = true;
    session.setLocalWindowSize(WINDOW_BYTES);
    session.on('error', () => session.destroy());
    session.on('close', () => {
      sessions.delete(session);
      if (sessions.size === 0) options.onLastSessionClosed?.();
    });
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => stream.destroy());
    const method = options.methods.get(String(headers[':path']));
    if (method?.kind === 'held') {
      hold(stream, method);
      return;
    }
    pendingCalls += 1;
    void answer(stream, headers, method, options).finally(() => {
      pendingCalls -= 1;
    });
  });
  return {
    accept: (socket) => {
      entrance.emit('connection', socket);
    },
    get pendingCalls() {
      return pendingCalls;
    },
    get hasBeenUsed() {
      return hasBeenUsed;
    },
    close: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

/**
 * The only client is the one whose certificate the handshake named, so its certificate is compared directly: with a
 * certificate authority, Node would also read all public ones, which takes longer than the rest of the start. TLS
 * itself proves that the client has the key of its certificate.
 */
function securing(tls: TlsOptions, onSecured: (secured: TLSSocket) => void): Server {
  const expected = new X509Certificate(tls.clientCertificatePem).raw;
  const server = createTlsServer({
    cert: tls.certificatePem,
    key: tls.keyPem,
    ca: [],
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2'],
  });
  server.on('secureConnection', (secured) => {
    if (secured.getPeerX509Certificate()?.raw.equals(expected)) onSecured(secured);
    else secured.destroy();
  });
  // A client that left during the TLS handshake. The client sees the failure itself.
  server.on('tlsClientError', () => {});
  return server;
}

/** Ends when the handler has ended and its answer, if a client still waits for it, is sent. */
async function answer(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  known: UnaryMethod | undefined,
  { maxMessageBytes = MAX_MESSAGE_BYTES, clock = systemClock, loadMore, onCall }: GrpcServerOptions,
): Promise<void> {
  const call = new AbortController();
  // Also after a complete answer, when no handler listens to the signal any more.
  stream.on('close', () => call.abort(canceled()));
  const timeout = headers['grpc-timeout'];
  const deadline = timeout === undefined ? undefined : timeoutMs(String(timeout));
  if (timeout !== undefined && deadline === undefined) {
    refuse(stream, STATUS.internal, `malformed grpc-timeout ${timeout}`);
    return;
  }
  if (deadline !== undefined) endAtDeadline(stream, call, clock, deadline);
  try {
    const body = await bodyOf(stream, maxMessageBytes);
    if (call.signal.aborted) return;
    if (!body.ok) {
      refuse(stream, body.status, body.reason);
      return;
    }
    const path = String(headers[':path']);
    onCall?.(path);
    const method = known ?? (await loadMore?.())?.get(path);
    if (method?.kind !== 'unary') {
      refuse(stream, STATUS.unimplemented, `unknown method ${path}`);
      return;
    }
    const reply = await method.handle(body.message, call.signal);
    if (!isOpen(stream)) return;
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(STATUS.ok) }));
    await new Promise<void>((resolve) => {
      stream.on('close', resolve);
      stream.end(frame(reply));
    });
    method.afterReply?.();
  } catch (error) {
    refuse(stream, STATUS.internal, error instanceof Error ? error.message : String(error));
  }
}

function endAtDeadline(stream: ServerHttp2Stream, call: AbortController, clock: Clock, deadlineMs: number): void {
  clock.sleep(deadlineMs, call.signal).then(
    () => {
      refuse(stream, STATUS.deadlineExceeded, `the deadline of ${deadlineMs} ms has passed`);
      call.abort(canceled());
    },
    () => {}, // The call ended first.
  );
}

function hold(stream: ServerHttp2Stream, method: HeldMethod): void {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(STATUS.ok) }));
  stream.resume();
  stream.on('close', () => method.onEnd?.());
}

/** The body of a cancelled call ends, too, wherever it is. */
function bodyOf(stream: ServerHttp2Stream, maxMessageBytes: number): Promise<Unframed> {
  const body = new BodyCollector(maxMessageBytes);
  return new Promise((resolve) => {
    const onData = (chunk: Buffer) => {
      const refusal = body.add(chunk);
      if (!refusal) return;
      // The rest is discarded.
      stream.off('data', onData).resume();
      resolve(refusal);
    };
    stream.on('data', onData);
    stream.on('end', () => resolve(body.finish()));
    stream.on('close', () => resolve(body.finish()));
  });
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.destroyed && !stream.closed && !stream.headersSent;
}

function refuse(stream: ServerHttp2Stream, status: Status, message: string): void {
  if (!isOpen(stream)) return;
  const trailers = { 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) };
  stream.respond({ ...HEADERS, ...trailers }, { endStream: true });
  // Tells a client that is still sending to stop.
  stream.close(constants.NGHTTP2_NO_ERROR);
}
