/**
 * Numbers of the host's language have hundreds of bits, and the same number may arrive as an integer, a float or digits.
 * Here each number gets its one form, and its digits without an exponent on the way back.
 */
import { type CtyNumber, Decimal } from './value.ts';

/** More digits than the host keeps. Without a limit, a short text with a large exponent could fill the memory. */
const DIGITS_LIMIT = 2_000;
const NUMBER_TEXT = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;

/** Undefined where the text is not a number, or has too many digits. */
export function numberFromText(text: string): CtyNumber | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const { sign, whole, fraction } = parts;
  if (fraction === '') return canonicalInteger(BigInt(sign + whole));
  const digits = `${sign}${whole}.${fraction}`;
  const near = Number(digits);
  return plainDigits(near) === digits ? near : new Decimal(digits);
}

/** Undefined for infinities and NaN. */
export function numberFromFloat(float: number): CtyNumber | undefined {
  if (!Number.isFinite(float)) return undefined;
  return Number.isInteger(float) ? canonicalInteger(BigInt(float)) : float;
}

export function canonicalInteger(integer: bigint): CtyNumber {
  const near = Number(integer);
  return Number.isSafeInteger(near) ? near : integer;
}

/** All digits, no exponent. Undefined for infinities and NaN. */
export function textOfNumber(number: CtyNumber): string | undefined {
  if (number instanceof Decimal) {
    const parts = partsOf(number.text);
    return parts && joined(parts);
  }
  return typeof number === 'bigint' ? String(number) : plainDigits(number);
}

function plainDigits(number: number): string | undefined {
  if (!Number.isFinite(number)) return undefined;
  if (Number.isInteger(number)) return String(BigInt(number));
  const text = String(number);
  if (!text.includes('e')) return text;
  const parts = partsOf(text);
  return parts && joined(parts);
}

interface Parts {
  readonly sign: '' | '-';
  /** Without leading zeros, at least one digit. */
  readonly whole: string;
  /** Without trailing zeros. */
  readonly fraction: string;
}

function joined({ sign, whole, fraction }: Parts): string {
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`;
}

function partsOf(text: string): Parts | undefined {
  const match = text.length <= DIGITS_LIMIT ? NUMBER_TEXT.exec(text) : null;
  if (!match) return undefined;
  const [, sign, before = '', after = '', exponentText = '0'] = match;
  if (before + after === '') return undefined;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > DIGITS_LIMIT) return undefined;
  const digits = '0'.repeat(Math.max(0, -exponent)) + before + after + '0'.repeat(Math.max(0, exponent));
  const point = Math.max(0, -exponent) + before.length + exponent;
  const whole = trimLeadingZeros(digits.slice(0, point));
  const fraction = trimTrailingZeros(digits.slice(point));
  const isZero = whole === '0' && fraction === '';
  return { sign: sign === '-' && !isZero ? '-' : '', whole, fraction };
}

function trimLeadingZeros(digits: string): string {
  let from = 0;
  while (from < digits.length - 1 && digits[from] === '0') from += 1;
  return digits.slice(from) || '0';
}

function trimTrailingZeros(digits: string): string {
  let to = digits.length;
  while (to > 0 && digits[to - 1] === '0') to -= 1;
  return digits.slice(0, to);
}
