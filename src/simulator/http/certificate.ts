/** The certificate of a simulated server: self-signed, made anew for every start, trusted by its fingerprint. */
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { generate } from 'selfsigned';
import type { Instant } from '../../base/clock.ts';

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
