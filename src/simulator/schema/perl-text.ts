/** How Perl sees values where a schema check depends on it: numbers as text, lists, lengths, truth. */
import type { RawValue } from './types.ts';

/** The text of a scalar. Numbers are printed with at most 15 significant digits. */
export function scalarText(value: string | number): string {
  if (typeof value === 'string' || Number.isInteger(value)) return String(value);
  const [mantissa = '', exponent = '0'] = value.toExponential(14).split('e');
  const power = Number(exponent);
  if (power >= -5 && power < 15) return String(Number(value.toPrecision(15)));
  const digits = mantissa.replace(/\.?0+$/, '');
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** What Perl's `ref` says of a value decoded from JSON; empty for a scalar. */
export function referenceType(value: NonNullable<RawValue>): '' | 'ARRAY' | 'HASH' | 'JSON::PP::Boolean' {
  if (typeof value === 'boolean') return 'JSON::PP::Boolean';
  if (Array.isArray(value)) return 'ARRAY';
  return typeof value === 'object' ? 'HASH' : '';
}

export function isFalse(text: string | undefined): boolean {
  return text === undefined || text === '' || text === '0';
}

/** Characters, not UTF-16 units. */
export function textLength(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** `$` at the end of a Perl expression also matches before a final line feed; verifiers look at the rest. */
export function withoutFinalNewline(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** The parts between separators, without empty ones at the end, like Perl's `split`. */
export function splitLikePerl(text: string, separator: string | RegExp): string[] {
  if (text === '') return [];
  const parts = text.split(separator);
  while (parts.at(-1) === '') parts.pop();
  return parts;
}

/** Lists are separated by commas, semicolons or blanks; by NUL alone where there is one. [source PC ParseUtils.pm split_list] */
export function splitList(text: string): string[] {
  if (text.includes('\0')) return splitLikePerl(text, '\0');
  return splitLikePerl(text.replace(/[,;]/g, ' ').replace(/^\s+/, ''), /\s+/);
}

export function isNumberText(text: string): boolean {
  return /^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?\n?$/.test(text);
}

export function isIntegerText(text: string): boolean {
  return /^[+-]?\d+\n?$/.test(text);
}
