/**
 * Numbers of the host's language have hundreds of bits, and the same number may arrive as an integer, a float or
 * digits. Here each number gets one canonical form, and is written back as digits without an exponent.
 */
import { type CtyNumber, type CtyValue, Decimal } from './value.ts';

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

/** All digits, no exponent. Undefined for infinities, NaN and values that are not numbers. */
export function textOfNumber(value: CtyValue): string | undefined {
  if (value instanceof Decimal) return plainText(value.text);
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'number' ? plainDigits(value) : undefined;
}

function plainDigits(number: number): string | undefined {
  if (!Number.isFinite(number)) return undefined;
  return Number.isInteger(number) ? String(BigInt(number)) : plainText(String(number));
}

function plainText(text: string): string | undefined {
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
  const [, sign, before = '', after = '', exponentText] = match;
  if (before + after === '') return undefined;
  const exponent = exponentText === undefined ? 0 : Number(exponentText);
  if (Math.abs(exponent) > DIGITS_LIMIT) return undefined;
  const digits = '0'.repeat(Math.max(0, -exponent)) + before + after + '0'.repeat(Math.max(0, exponent));
  const point = Math.max(0, -exponent) + before.length + exponent;
  const whole = digits.slice(0, point).replace(/^0+/, '') || '0';
  const fraction = digits.slice(point).replace(/0+$/, '');
  const isZero = whole === '0' && fraction === '';
  return { sign: sign === '-' && !isZero ? '-' : '', whole, fraction };
}
