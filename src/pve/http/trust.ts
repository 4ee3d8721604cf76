/** Why a server's certificate is believed: its issuer, or its SHA-256 fingerprint. There is no third way. */
import { X509Certificate } from 'node:crypto';
import { ProxwrightError } from '../../base/errors.ts';

export type Trust =
  | { readonly kind: 'system' }
  /** PEM text, one certificate or several. */
  | { readonly kind: 'ca'; readonly pem: string }
  /** Upper-case pairs with colons, as Proxmox prints them. */
  | { readonly kind: 'fingerprint'; readonly sha256: string };

export const systemTrust: Trust = { kind: 'system' };

/** Checks a fingerprint in any usual spelling and brings it into the form that Proxmox and Node print. */
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
      hint: 'On the node: openssl x509 -noout -fingerprint -sha256 -in /etc/pve/local/pve-ssl.pem',
    });
  }
  return { kind: 'fingerprint', sha256: digits.replace(/(..)(?!$)/g, '$1:') };
}

/** Checks the text of a CA file, so that a wrong file is reported as such and not as an untrusted server. */
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
