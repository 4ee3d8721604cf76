/**
 * Opens one TLS connection and hands it out only after the server has proved who it is. Node would write queued
 * request bytes as soon as the handshake ends, before anybody could look at the certificate; so nobody gets the
 * socket earlier, and a token never reaches an impostor.
 */
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { TransportFailure } from '../../base/transport.ts';
import type { Trust } from './trust.ts';

export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  readonly trust: Trust;
  readonly connectTimeoutMs: number;
}

export function connectVerified(target: TlsTarget): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: target.host,
      port: target.port,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(target.host) === 0 && { servername: target.host }),
      ...(target.trust.kind === 'ca' && { ca: target.trust.pem }),
      // Verification is not skipped but done below: when Node itself refuses, the certificate is gone by the time
      // we hear of it, and the message could not show the fingerprint that the user has to compare.
      rejectUnauthorized: false,
    });
    const fail = (failure: TransportFailure) => {
      socket.destroy();
      reject(failure);
    };
    socket.setNoDelay(true);
    socket.setTimeout(target.connectTimeoutMs, () =>
      fail(notConnected(`no connection within ${target.connectTimeoutMs / 1000} s`, 'timeout')),
    );
    // Stays for the whole life of the socket, so that an error between two owners never goes unheard.
    socket.on('error', (cause: Error) => fail(notConnected(describe(cause), 'connect', cause)));
    socket.once('end', () =>
      fail(notConnected('the server closed the connection during the TLS handshake', 'connect')),
    );
    socket.once('secureConnect', () => {
      const complaint = complaintAbout(socket, target.trust);
      if (complaint) return fail(complaint);
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      socket.removeAllListeners('end');
      resolve(socket);
    });
  });
}

function complaintAbout(socket: TLSSocket, trust: Trust): TransportFailure | undefined {
  // A resumed session carries no certificate. We never offer one, but an absent fingerprint must not pass as equal.
  const presented = socket.getPeerCertificate()?.fingerprint256;
  if (trust.kind === 'fingerprint') {
    if (presented !== undefined && presented === trust.sha256) return undefined;
    return untrusted(`its fingerprint is not the expected ${trust.sha256}`, presented);
  }
  if (socket.authorized && !socket.isSessionReused()) return undefined;
  // The type says Error, yet what Node stores is the error's code.
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
  return new TransportFailure({ kind, delivered: 'no', message, cause });
}

function describe(error: Error): string {
  const code = 'code' in error ? String(error.code) : '';
  const known = CONNECT_REASONS[code];
  if (known) return known;
  // Several addresses were tried (IPv6, then IPv4): the outer error has no text of its own.
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
