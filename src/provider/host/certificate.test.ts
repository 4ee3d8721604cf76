/** The hand-written certificate, checked with Node's own X.509 reader. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createCertificate } from './certificate.ts';

const NOW = Date.UTC(2049, 11, 31, 23, 59, 30);

describe('the certificate', () => {
  const made = createCertificate(NOW);
  const read = new X509Certificate(made.certificate);

  it('is for localhost, signed by its own key', () => {
    expect(read.subject).toBe('CN=localhost');
    expect(read.issuer).toBe('CN=localhost');
    expect(read.subjectAltName).toBe('DNS:localhost');
    expect(read.checkHost('localhost')).toBe('localhost');
    expect(read.verify(read.publicKey)).toBe(true);
    expect(read.checkPrivateKey(createPrivateKey(made.keyPem))).toBe(true);
    expect(read.publicKey.asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
  });

  it('is valid before and after now', () => {
    expect(Date.parse(read.validFrom)).toBe(NOW - 3_600_000);
    expect(Date.parse(read.validTo)).toBe(NOW + 30 * 86_400_000);
  });

  it('may be used by a server and as its own authority', () => {
    expect(read.ca).toBe(true);
    expect(read.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });

  it('is the same in both encodings', () => {
    expect(new X509Certificate(made.certificatePem).fingerprint256).toBe(read.fingerprint256);
  });

  it('differs every time', () => {
    const other = new X509Certificate(createCertificate(NOW).certificate);
    expect(other.serialNumber).not.toBe(read.serialNumber);
    expect(other.publicKey.equals(read.publicKey)).toBe(false);
  });
});
