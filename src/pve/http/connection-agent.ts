/**
 * Opens verified TLS connections and decides how long to keep them. Proxmox closes a connection after 5 s without traffic,
 * after 100 requests, and after any response of 400 and above, without announcing it. A request written into a closing
 * connection has an unknown outcome, so the client always closes first.
 */
import type { ClientRequest } from 'node:http';
import { Agent } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, TLSSocket } from 'node:tls';
import { TransportFailure } from '../../base/transport.ts';
import { once } from '../../base/values/once.ts';
import type { Trust } from './endpoint.ts';

/** pveproxy's idle limit is 5 s (pve-http-server, AnyEvent.pm `timeout`). */
export const IDLE_MS = 4_000;
/** pveproxy's limit is 100 (pve-manager, pveproxy.pm `max_requests`). */
export const REQUESTS_PER_CONNECTION = 90;

export interface ConnectionAgent extends Agent {
  /** Call this for every response: its status decides whether the connection can be reused. */
  answered(socket: Duplex, status: number): void;
  /**
   * Ends a connection whose request was given up. A plain close lets the kernel deliver what it still holds, so a DELETE
   * could arrive long after its time-out. A reset discards those bytes. The TLS connection and its request end with it, in
   * a later turn of the event loop: Node must not see them end while it reads from them.
   */
  reset(socket: Duplex): void;
}

export function connectionAgent(target: TlsTarget, idleMs: number): ConnectionAgent {
  return new (agentClass())(target, idleMs);
}

/** Made with the first connection: a process that only validates then does not load Node's client. */
const agentClass = once(
  () =>
    class extends Agent {
      readonly #target: TlsTarget;
      readonly #requestCounts = new WeakMap<Duplex, number>();
      readonly #refused = new WeakSet<Duplex>();
      /** The TCP connection below each TLS connection: only that one can be reset. */
      readonly #tcp = new WeakMap<Duplex, Socket>();
      readonly #idleMs: number;

      constructor(target: TlsTarget, idleMs: number) {
        // `createConnection` below offers no session for resumption; the cache size prevents it as well.
        super({ keepAlive: true, maxCachedSessions: 0 });
        this.#target = target;
        this.#idleMs = idleMs;
      }

      override createConnection(
        _options: unknown,
        callback?: (error: Error | null, stream: Duplex) => void,
      ): undefined {
        connectVerified(this.#target).then(
          ({ tls, tcp }) => {
            this.#tcp.set(tls, tcp);
            callback?.(null, tls);
          },
          // Node passes the error on and ignores the stream, but its types require one.
          (error: Error) => callback?.(error, undefined as unknown as Duplex),
        );
        return undefined;
      }

      answered(socket: Duplex, status: number): void {
        this.#requestCounts.set(socket, (this.#requestCounts.get(socket) ?? 0) + 1);
        if (status >= 400) this.#refused.add(socket);
      }

      reset(socket: Duplex): void {
        const tcp = this.#tcp.get(socket);
        if (tcp && !tcp.destroyed) tcp.resetAndDestroy();
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
    },
);

interface Connection {
  readonly tls: TLSSocket;
  readonly tcp: Socket;
}

interface TlsTarget {
  readonly host: string;
  readonly port: number;
  readonly trust: Trust;
  readonly connectTimeoutMs: number;
}

/**
 * Returns the socket only after the server has proved its identity. Node writes queued request bytes as soon as the
 * handshake ends, before anything could check the certificate; this way a token never reaches an impostor.
 */
function connectVerified(target: TlsTarget): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const tcp = connectTcp({ host: target.host, port: target.port, noDelay: true });
    const fail = (failure: TransportFailure) => {
      tcp.destroy();
      reject(failure);
    };
    const onError = (cause: Error) => fail(notConnected(describe(cause), 'connect', cause));
    const onTimeout = () => fail(notConnected(`no connection within ${target.connectTimeoutMs / 1000} s`, 'timeout'));
    const timer = setTimeout(onTimeout, target.connectTimeoutMs);
    tcp.once('close', () => clearTimeout(timer));
    // Stays for the lifetime of the socket, so that no error is unhandled between two owners.
    tcp.on('error', onError);
    // Node wraps a connected socket only; TLS over one that still connects would go through slower streams.
    tcp.once('connect', () => {
      const tls = connect({
        socket: tcp,
        // The name that the certificate must carry.
        host: target.host,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(target.host) === 0 && { servername: target.host }),
        ...(target.trust.kind === 'ca' && { ca: target.trust.pem }),
        // With a pinned fingerprint no issuer counts, so Node does not have to read the public ones, which takes longer
        // than the connection.
        ...(target.trust.kind === 'fingerprint' && { ca: [] }),
        // The certificate is verified below. If Node rejected it, it would be gone by the time of the error, and the
        // message could not show the fingerprint that the user has to compare.
        rejectUnauthorized: false,
      });
      tls.on('error', onError);
      tls.once('end', () => fail(notConnected('the server closed the connection during the TLS handshake', 'connect')));
      tls.once('secureConnect', () => {
        const complaint = complaintAbout(tls, target.trust);
        if (complaint) return fail(complaint);
        clearTimeout(timer);
        tls.removeAllListeners('end');
        resolve({ tls, tcp });
      });
    });
  });
}

function complaintAbout(socket: TLSSocket, trust: Trust): TransportFailure | undefined {
  // A resumed session has no certificate. The client never resumes one, but an absent fingerprint must not count as equal.
  const presented = socket.getPeerCertificate()?.fingerprint256;
  if (trust.kind === 'fingerprint') {
    if (presented !== undefined && presented === trust.sha256) return undefined;
    return untrusted(
      `its fingerprint is not the pinned ${trust.sha256}; the certificate was renewed, or another server answers`,
      presented,
    );
  }
  if (socket.authorized && !socket.isSessionReused()) return undefined;
  // The type says Error, but Node stores the code of the error.
  const reason = String(socket.authorizationError ?? 'session resumed without a certificate');
  return untrusted(CERTIFICATE_REASONS[reason] ?? reason, presented);
}

const CERTIFICATE_REASONS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its issuer is not among the trusted ones',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its issuer is not among the trusted ones',
  UNABLE_TO_GET_ISSUER_CERT: 'its issuer is not among the trusted ones',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its issuer is not among the trusted ones',
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it was issued for another host name',
};

function untrusted(reason: string, fingerprint: string | undefined): TransportFailure {
  return new TransportFailure({
    kind: 'certificate',
    delivered: 'no',
    message: reason,
    ...(fingerprint && { fingerprint }),
  });
}

function notConnected(message: string, kind: 'connect' | 'timeout', cause?: Error): TransportFailure {
  const systemCode = cause && codeOf(cause);
  return new TransportFailure({ kind, delivered: 'no', message, cause, ...(systemCode && { systemCode }) });
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : '');

function describe(error: Error): string {
  const known = CONNECT_REASONS[codeOf(error)];
  if (known) return known;
  // Node tried several addresses (IPv6, then IPv4): the outer error has no message.
  if (error instanceof AggregateError) {
    return [...new Set(error.errors.map((each: unknown) => describe(each as Error)))].join('; ');
  }
  return error.message;
}

const CONNECT_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused: nothing listens on that port',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be resolved just now',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'connection timed out',
  ECONNRESET: 'the server closed the connection during the TLS handshake',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on that port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server does not speak TLS on that port',
};
