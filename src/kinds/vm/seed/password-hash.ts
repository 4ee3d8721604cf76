/**
 * A password as guests store it: SHA-512 crypt. Others may read a seed in its storage, so it does not contain the password
 * itself. The salt is a parameter, because the same input must give the same seed; it must not come from the password.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';

const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ROUNDS = 5000;
const SALT_LENGTH = 16;
const DIGEST_BYTES = 64;

/** What guests accept as a hash: passed on unchanged. */
const HASHED = /^\$(1|2[aby]|5|6|y)\$[^$]+\$.+/;

export function passwordHash(password: string, saltSource: string): string {
  return HASHED.test(password) ? password : sha512Crypt(password, saltOf(saltSource));
}

function saltOf(source: string): string {
  const digest = createHash('sha256').update(`salt of a seed: ${source}`).digest();
  return Array.from(digest.subarray(0, SALT_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length] ?? '').join('');
}

export function sha512Crypt(password: string, salt: string): string {
  const key = Buffer.from(password);
  const salting = Buffer.from(salt);
  const alternate = sha512(key, salting, key);
  let digest = sha512(key, salting, repeated(alternate, key.length), ...bitsOf(key.length, alternate, key));
  const keySequence = repeated(sha512(...Array<Buffer>(key.length).fill(key)), key.length);
  const saltTimes = 16 + digest.readUInt8(0);
  const saltSequence = repeated(sha512(...Array<Buffer>(saltTimes).fill(salting)), salting.length);
  for (let round = 0; round < ROUNDS; round++) {
    const isOdd = round % 2 === 1;
    digest = sha512(
      isOdd ? keySequence : digest,
      round % 3 === 0 ? NOTHING : saltSequence,
      round % 7 === 0 ? NOTHING : keySequence,
      isOdd ? digest : keySequence,
    );
  }
  return `$6$${salt}$${encoded(digest)}`;
}

const NOTHING = Buffer.alloc(0);

function sha512(...parts: readonly Buffer[]): Buffer {
  return createHash('sha512').update(Buffer.concat(parts)).digest();
}

/** Repeats the bytes up to the requested length. */
function repeated(bytes: Buffer, length: number): Buffer {
  return Buffer.alloc(length, bytes);
}

/** For each binary digit of the length, the lowest first, one of two texts. */
function bitsOf(length: number, one: Buffer, zero: Buffer): Buffer[] {
  return length === 0
    ? []
    : Array.from(length.toString(2))
        .reverse()
        .map((digit) => (digit === '1' ? one : zero));
}

/** Three bytes from three parts of the digest become four letters, the lowest six bits first. */
function encoded(digest: Buffer): string {
  let text = '';
  let [first, second, third] = [0, 21, 42];
  while (first < DIGEST_BYTES - 1 && second < DIGEST_BYTES - 1 && third < DIGEST_BYTES - 1) {
    text += letters([digest[third], digest[second], digest[first]], 4);
    [first, second, third] = [second + 1, third + 1, first + 1];
  }
  return text + letters([digest[DIGEST_BYTES - 1]], 2);
}

function letters(bytesLowestFirst: readonly (number | undefined)[], count: number): string {
  let value = bytesLowestFirst.reduce<number>((sum, byte, place) => sum + (byte ?? 0) * 256 ** place, 0);
  let text = '';
  for (let place = 0; place < count; place++) {
    text += ALPHABET[value % 64] ?? '';
    value = Math.floor(value / 64);
  }
  return text;
}
