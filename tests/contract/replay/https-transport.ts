/** A plain HTTPS client with one connection per request, independent of the product's own transport. */
import { createHash } from 'node:crypto';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Transport, WireRequest, WireResponse } from '../../../src/base/transport.ts';

/** How the server proves who it is: by an authority, or by the SHA-256 fingerprint of its certificate. */
export type Trust = { readonly ca: string } | { readonly fingerprint: string };

/** Only for an answer that never comes: a busy machine may take long. */
const PATIENCE_MS = 600_000;

/** `endpoint` is scheme, host and port, such as `https://pve1:8006`. */
export function httpsTransport(endpoint: string, trust: Trust): Transport {
  const url = new URL(endpoint);
  const options: RequestOptions = {
    host: url.hostname,
    port: url.port || '8006',
    agent: false,
    timeout: PATIENCE_MS,
    // With a pinned fingerprint the chain proves nothing more; `checkFingerprint` decides before anything is sent.
    ...('ca' in trust ? { ca: trust.ca } : { rejectUnauthorized: false }),
  };
  return {
    send: (request) => exchange(request, options, trust),
    close: async () => {},
  };
}

function exchange(wire: WireRequest, options: RequestOptions, trust: Trust): Promise<WireResponse> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { ...options, method: wire.method, path: wire.target, headers: wire.headers },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            reason: response.statusMessage ?? '',
            headers: joinHeaders(response.headers),
            body: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
    if ('ca' in trust) {
      finish(request, wire);
      return;
    }
    request.on('socket', (socket) => {
      const tls = socket as TLSSocket; // the socket of an https request
      tls.once('secureConnect', () => {
        const presented = fingerprintOf(tls.getPeerCertificate().raw);
        if (presented === normal(trust.fingerprint)) finish(request, wire);
        else request.destroy(new Error(`the server's fingerprint is ${presented}`));
      });
    });
  });
}

function finish(request: ReturnType<typeof httpsRequest>, wire: WireRequest): void {
  if (wire.body !== undefined) request.write(wire.body);
  request.end();
}

function joinHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]));
}

const fingerprintOf = (certificate: Buffer) => createHash('sha256').update(certificate).digest('hex');
const normal = (fingerprint: string) => fingerprint.replaceAll(':', '').toLowerCase();
