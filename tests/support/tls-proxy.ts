/**
 * A proxy between a client and a server, both over TLS, that a test controls. For every request it calls a function of the
 * test, which decides what the server receives and what the client receives: it may wait, forward the request after the client has
 * died, cut the connection before or after the request took effect, or rewrite either side. The whole server can also go
 * down, or fall silent.
 *
 *     const proxy = await startTlsProxy(cluster.environment.PROXMOX_VE_ENDPOINT);
 *     proxy.intercept(async (request, forward) => {
 *       if (request.method === 'DELETE') await gate.opened;   // delivered late, even if the client has died
 *       return forward(request);                              // or 'cut', or another answer
 *     });
 */
import { Buffer } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestCertificate, testCertificate } from '../../src/pve/testing/tls-server.ts';

export interface ProxiedRequest {
  readonly method: string;
  /** Path and query: `/api2/json/version`. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Resolves when the client has gone before it got an answer. */
  readonly abandoned: Promise<void>;
}

export interface ProxiedAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Forward = (request: ProxiedRequest) => Promise<ProxiedAnswer>;
/** `cut` closes the connection without an answer. */
export type Intercept = (request: ProxiedRequest, forward: Forward) => Promise<ProxiedAnswer | 'cut'>;

export interface TlsProxy {
  readonly endpoint: string;
  readonly fingerprint: string;
  /** For a command that is to go through the proxy. */
  readonly environment: { readonly PROXMOX_VE_ENDPOINT: string; readonly PROXMOX_VE_FINGERPRINT: string };
  /** Requests so far, as `METHOD /path`, without the query. */
  readonly seen: readonly string[];
  /** Replaces the function that decides; without one everything passes. */
  intercept(intercept: Intercept): void;
  /** Refuses connections and cuts those that are open, as a host does whose service has stopped. */
  goDown(): Promise<void>;
  /** Listens on the same port again. */
  comeUp(): Promise<void>;
  close(): Promise<void>;
}

const pass: Intercept = (request, forward) => forward(request);

export async function startTlsProxy(upstream: string): Promise<TlsProxy> {
  const certificate = await testCertificate();
  const seen: string[] = [];
  let decide = pass;
  const forward: Forward = (request) => forwardTo(upstream, request);
  const handle = async (message: IncomingMessage, response: ServerResponse) => {
    const request = await received(message, response);
    seen.push(`${request.method} ${request.target.replace(/^\/api2\/json/, '').replace(/\?.*$/, '')}`);
    const answer = await decide(request, forward);
    if (answer === 'cut') message.socket.destroy();
    else respond(response, answer);
  };
  let listener = await listen(certificate, handle, 0);
  const { port } = listener;
  const endpoint = `https://127.0.0.1:${port}`;
  return {
    endpoint,
    fingerprint: certificate.fingerprint,
    environment: { PROXMOX_VE_ENDPOINT: endpoint, PROXMOX_VE_FINGERPRINT: certificate.fingerprint },
    seen,
    intercept: (intercept) => {
      decide = intercept;
    },
    goDown: () => listener.close(),
    comeUp: async () => {
      listener = await listen(certificate, handle, port);
    },
    close: () => listener.close(),
  };
}

/** Opens once; all who wait for `opened` continue then. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function createGate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

async function listen(
  { key, cert }: TestCertificate,
  handle: (message: IncomingMessage, response: ServerResponse) => Promise<void>,
  port: number,
): Promise<Listener> {
  const sockets = new Set<Duplex>();
  const server = createServer({ key, cert }, (message, response) => {
    // What fails is the client, which has gone, or the server behind: either way the client gets no answer.
    handle(message, response).catch(() => message.socket.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port, not on a pipe
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function received(message: IncomingMessage, response: ServerResponse): Promise<ProxiedRequest> {
  const abandoned = new Promise<void>((resolve) => {
    response.once('close', () => {
      if (!response.writableEnded) resolve();
    });
  });
  const headers = Object.entries(message.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]);
  const { method = '', url: target = '' } = message;
  return { method, target, headers: Object.fromEntries(headers), body: await bodyOf(message), abandoned };
}

function forwardTo(upstream: string, { method, target, headers, body }: ProxiedRequest): Promise<ProxiedAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(`${upstream}${target}`, {
      method,
      agent: false,
      headers: { ...headers, connection: 'close' },
      // Both ends are this test's own.
      rejectUnauthorized: false,
    });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      const kept = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.has(name));
      bodyOf(answer).then(
        (text) =>
          resolve({
            status: answer.statusCode ?? 0,
            reason: answer.statusMessage ?? '',
            headers: Object.fromEntries(kept.map(([name, value]) => [name, [value ?? ''].flat().join(', ')])),
            body: text,
          }),
        reject,
      );
    });
    outgoing.end(body);
  });
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

function respond(response: ServerResponse, { status, reason, headers, body }: ProxiedAnswer): void {
  response.writeHead(status, reason, { ...headers, 'content-length': String(body.length) });
  response.end(body);
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer); // no encoding was set
  return Buffer.concat(chunks);
}
