/**
 * The part of gRPC that a provider needs, on node:http2: calls with one message each way, and calls that are only held open.
 * Knows nothing of messages; bytes in, bytes out. No limit on their size: configurations may be large.
 */
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { frame, unframe } from './grpc-frame.ts';

export type Method =
  | { readonly kind: 'unary'; handle(message: Uint8Array): Promise<Uint8Array>; afterReply?(): void }
  /** Stays open until the host ends it; nothing is sent. */
  | { readonly kind: 'held'; onEnd?(): void };

/** By path, `/package.Service/Method`. */
export type Methods = ReadonlyMap<string, Method>;

export interface TlsOptions {
  readonly certificatePem: string;
  readonly keyPem: string;
  /** The only certificate a client may show. */
  readonly clientCertificatePem: string;
}

export interface GrpcServerOptions {
  readonly methods: Methods;
  readonly tls?: TlsOptions;
  /** The last connection is gone. */
  readonly onLastSessionClosed?: () => void;
}

export interface GrpcServer {
  accept(socket: Socket): void;
  /** Calls that have not been answered. */
  readonly pendingCalls: number;
  /** Somebody has connected. */
  readonly hasBeenUsed: boolean;
  /** Ends every connection. */
  close(): void;
}

/** Numbers of gRPC's own. */
const STATUS = { unimplemented: 12, internal: 13 } as const;

const MEBIBYTE = 2 ** 20;
/** A large message arrives in one go instead of in pieces of 64 KiB, each waited for. */
const WINDOW_BYTES = 16 * MEBIBYTE;
/** In MiB; the default of 10 would refuse what the host may well send. */
const SESSION_MEMORY_MIB = 4096;

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' } as const;

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  const sessions = new Set<ServerHttp2Session>();
  let pendingCalls = 0;
  let hasBeenUsed = false;
  const server = createHttp2Server(options.tls);
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
  // A client without the right certificate, or one that went away while greeting: its problem.
  server.on('tlsClientError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => stream.destroy());
    const method = options.methods.get(String(headers[':path']));
    if (method === undefined) refuse(stream, STATUS.unimplemented, `unknown method ${headers[':path']}`);
    else if (method.kind === 'held') hold(stream, method);
    else {
      pendingCalls += 1;
      void answer(stream, method).finally(() => {
        pendingCalls -= 1;
      });
    }
  });
  return {
    accept: (socket) => {
      server.emit('connection', socket);
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

function createHttp2Server(tls: TlsOptions | undefined): Http2Server | Http2SecureServer {
  const common = {
    maxSessionMemory: SESSION_MEMORY_MIB,
    settings: { initialWindowSize: WINDOW_BYTES },
  };
  if (tls === undefined) return createServer(common);
  return createSecureServer({
    ...common,
    cert: tls.certificatePem,
    key: tls.keyPem,
    ca: [tls.clientCertificatePem],
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2'],
  });
}

async function answer(stream: ServerHttp2Stream, method: Extract<Method, { kind: 'unary' }>): Promise<void> {
  try {
    const message = unframe(await bytesOf(stream));
    if (!message.ok) {
      refuse(stream, STATUS.unimplemented, message.reason);
      return;
    }
    const reply = await method.handle(message.message);
    if (stream.destroyed || stream.closed) return;
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    await new Promise<void>((resolve) => {
      stream.on('close', resolve);
      stream.end(frame(reply));
    });
    method.afterReply?.();
  } catch (error) {
    refuse(stream, STATUS.internal, error instanceof Error ? error.message : String(error));
  }
}

function hold(stream: ServerHttp2Stream, method: Extract<Method, { kind: 'held' }>): void {
  stream.respond(HEADERS, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.resume();
  stream.on('close', () => method.onEnd?.());
}

async function bytesOf(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks);
}

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed || stream.closed || stream.headersSent) return;
  const trailers = { 'grpc-status': String(status), 'grpc-message': encodeURIComponent(message) };
  stream.respond({ ...HEADERS, ...trailers }, { endStream: true });
}
