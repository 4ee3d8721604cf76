/** Which server to connect to, and why to trust its certificate: by its issuer or by its SHA-256 fingerprint, nothing else. */
import { X509Certificate } from 'node:crypto';
import { ProxwrightError } from '../../base/errors.ts';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** `https://host:port`, for messages. */
  readonly url: string;
}

const DEFAULT_PORT = 8006;

/** Accepts `https://host`, `host:8006`, a trailing slash, and the `/api2/json` that other tools require. */
export function parseEndpoint(text: string): Endpoint {
  const trimmed = text.trim();
  if (/^http:/i.test(trimmed)) {
    throw badEndpoint(text, 'Proxmox answers on HTTPS only.', `Write https://${trimmed.slice('http://'.length)}`);
  }
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url?.protocol !== 'https:' || url.hostname === '') {
    throw badEndpoint(text, 'It is not the address of a server.');
  }
  if (url.username !== '' || url.password !== '') {
    // Without the text itself, because it seems to contain a password.
    throw badEndpoint(`${url.protocol}//…@${url.host}`, 'The endpoint must not contain credentials.');
  }
  if (!/^\/(api2(\/(json|extjs))?\/?)?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw badEndpoint(text, `Only /api2/json may follow the host, not "${url.pathname}${url.search}${url.hash}".`);
  }
  // URL drops ":443", the default of https, but a user who writes it means it (a reverse proxy).
  const port = url.port !== '' ? Number(url.port) : /:443(\/|$)/.test(withScheme) ? 443 : DEFAULT_PORT;
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port, url: `https://${url.hostname}:${port}` };
}

function badEndpoint(text: string, reason: string, hint = 'An endpoint looks like https://pve1.example.org:8006.') {
  return new ProxwrightError({ code: 'BAD_VALUE', detail: `The endpoint "${text}" cannot be used. ${reason}`, hint });
}

export type Trust =
  | { readonly kind: 'system' }
  /** PEM text, one certificate or several. */
  | { readonly kind: 'ca'; readonly pem: string }
  /** Upper-case pairs with colons, as Proxmox prints them. */
  | { readonly kind: 'fingerprint'; readonly sha256: string };

/** What prints the fingerprint of a node's certificate, on the node. */
export const PRINT_FINGERPRINT = 'openssl x509 -noout -fingerprint -sha256 -in /etc/pve/local/pve-ssl.pem';

export const systemTrust: Trust = { kind: 'system' };

/** Accepts a fingerprint in any usual spelling and returns it in the form that Proxmox and Node print. */
export function fingerprintTrust(text: string): Trust {
  const digits = text
    .trim()
    .replace(/^sha-?256[:= ]\s*/i, '')
    .replace(/[:\s]/g, '')
    .toUpperCase();
  if (!/^[0-9A-F]{64}$/.test(digits)) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `"${text}" is not a SHA-256 fingerprint: 32 pairs of hexadecimal digits are needed.`,
      hint: `On the node: ${PRINT_FINGERPRINT}`,
    });
  }
  return { kind: 'fingerprint', sha256: digits.replace(/(..)(?!$)/g, '$1:') };
}

/** Checks the text of a CA file, so that a wrong file is not reported as an untrusted server. */
export function caTrust(pem: string, file?: string): Trust {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch (cause) {
    throw unreadable('It contains a certificate that cannot be decoded.', file, cause);
  }
  if (blocks.length === 0) throw unreadable('It contains no PEM certificate.', file);
  return { kind: 'ca', pem };
}

function unreadable(detail: string, file?: string, cause?: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'CERT_UNREADABLE',
    detail: `The CA certificate${file ? ` "${file}"` : ''} is not usable. ${detail}`,
    ...(file && { where: { file } }),
    hint: 'On a Proxmox node the file to copy is /etc/pve/pve-root-ca.pem.',
    cause,
  });
}
