/**
 * Decides how long a connection is kept. Proxmox closes it after 5 s without traffic, after 100 requests and after any
 * answer of 400 and above, without announcing it; a request written into a closing connection has an unknown outcome.
 * So we always leave first.
 */
import type { ClientRequest } from 'node:http';
import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { connectVerified, type TlsTarget } from './tls-connect.ts';

/** pveproxy's idle limit is 5 s (pve-http-server, AnyEvent.pm `timeout`). */
export const IDLE_MS = 4_000;
/** pveproxy's limit is 100 (pve-manager, pveproxy.pm `max_requests`). */
export const REQUESTS_PER_CONNECTION = 90;

export class ConnectionAgent extends Agent {
  readonly #target: TlsTarget;
  readonly #requestCounts = new WeakMap<Duplex, number>();
  readonly #refused = new WeakSet<Duplex>();
  readonly #idleMs: number;

  constructor(target: TlsTarget, idleMs: number) {
    // Our own `createConnection` offers no session for resumption; the cache size says so once more.
    super({ keepAlive: true, maxCachedSessions: 0 });
    this.#target = target;
    this.#idleMs = idleMs;
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    connectVerified(this.#target).then(
      (socket) => callback?.(null, socket),
      // Node passes the error on and ignores the stream, which its types demand nevertheless.
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  }

  /** To be told of every answer, because the status decides whether the connection has a future. */
  answered(socket: Duplex, status: number): void {
    this.#requestCounts.set(socket, (this.#requestCounts.get(socket) ?? 0) + 1);
    if (status >= 400) this.#refused.add(socket);
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const exhausted = (this.#requestCounts.get(socket) ?? 0) >= REQUESTS_PER_CONNECTION;
    if (exhausted || this.#refused.has(socket) || !(socket instanceof TLSSocket)) return false;
    socket.setTimeout(this.#idleMs);
    // An idle connection must not keep the process alive.
    socket.unref();
    return true;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    super.reuseSocket(socket, request);
    if (socket instanceof TLSSocket) socket.setTimeout(0);
  }
}
