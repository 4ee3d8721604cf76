/**
 * A certificate for one connection, written in DER by hand. Node creates keys and signatures but no certificates, and the
 * libraries that do take longer to load than everything else at the start.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Instant } from '../../base/clock.ts';

export interface KeyAndCertificate {
  /** DER. */
  readonly certificate: Buffer;
  readonly certificatePem: string;
  readonly keyPem: string;
}

const HOUR_MS = 3_600_000;
/** Host and provider share a clock; the hour is for a clock that is set during the start. */
const VALID_BEFORE_MS = HOUR_MS;
/** No run lasts longer, and no other program trusts the certificate. */
const VALID_FOR_MS = 30 * 24 * HOUR_MS;

const OID = {
  ecdsaWithSha256: [1, 2, 840, 10045, 4, 3, 2],
  commonName: [2, 5, 4, 3],
  keyUsage: [2, 5, 29, 15],
  subjectAltName: [2, 5, 29, 17],
  basicConstraints: [2, 5, 29, 19],
  extKeyUsage: [2, 5, 29, 37],
  serverAuth: [1, 3, 6, 1, 5, 5, 7, 3, 1],
  clientAuth: [1, 3, 6, 1, 5, 5, 7, 3, 2],
} as const;

/** Self-signed for `localhost`, the only name the host asks for. */
export function createCertificate(now: Instant): KeyAndCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(objectId(OID.ecdsaWithSha256));
  const name = sequence(set(sequence(objectId(OID.commonName), utf8('localhost'))));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    sequence(time(now - VALID_BEFORE_MS), time(now + VALID_FOR_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(
      3,
      sequence(
        extension(OID.basicConstraints, sequence(boolean(true)), true),
        // digitalSignature, keyAgreement, keyCertSign
        extension(OID.keyUsage, tlv(0x03, Buffer.from([2, 0b1000_1100])), true),
        extension(OID.extKeyUsage, sequence(objectId(OID.serverAuth), objectId(OID.clientAuth))),
        extension(OID.subjectAltName, sequence(tlv(0x82, Buffer.from('localhost')))),
      ),
    ),
  );
  const certificate = sequence(body, algorithm, bitString(sign('sha256', body, privateKey)));
  return {
    certificate,
    certificatePem: pem(certificate),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Tag, length, value. */
function tlv(tag: number, value: Uint8Array): Buffer {
  const length = value.length;
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

const sequence = (...parts: Uint8Array[]) => tlv(0x30, Buffer.concat(parts));
const set = (...parts: Uint8Array[]) => tlv(0x31, Buffer.concat(parts));
const explicit = (place: number, part: Uint8Array) => tlv(0xa0 | place, part);
const boolean = (value: boolean) => tlv(0x01, Buffer.from([value ? 0xff : 0]));
const integer = (bytes: Uint8Array) => tlv(0x02, bytes);
const bitString = (bytes: Uint8Array) => tlv(0x03, Buffer.concat([Buffer.from([0]), bytes]));
const octetString = (bytes: Uint8Array) => tlv(0x04, bytes);
const utf8 = (text: string) => tlv(0x0c, Buffer.from(text));

function time(instant: Instant): Buffer {
  const digits = new Date(instant).toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '');
  return tlv(0x18, Buffer.from(digits));
}

function extension(id: readonly number[], value: Uint8Array, critical = false): Buffer {
  return sequence(objectId(id), ...(critical ? [boolean(true)] : []), octetString(value));
}

function objectId([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Seven bits a byte, the highest bit set on all but the last. */
function base128(value: number): number[] {
  const low = value & 0x7f;
  const high = value >>> 7;
  return high === 0 ? [low] : [...base128(high).map((byte) => byte | 0x80), low];
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
