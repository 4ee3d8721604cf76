/** How Perl sees values where a schema check depends on it: numbers as text, lists, lengths, truth, patterns. */
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

/** The result of Perl's `ref` for a value decoded from JSON; empty for a scalar. */
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

const compiled = new Map<string, RegExp>();

/**
 * Whether the text matches, anchored as the server anchors it: `^` and `$` are put around the pattern without a group,
 * so in `a|b` the first alternative is only anchored at the start and the second only at the end.
 * [source PC JSONSchema.pm check_prop]
 */
export function matchesPerlPattern(pattern: string, text: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(translate(`^${pattern}$`), 'u');
    compiled.set(pattern, expression);
  }
  return expression.test(text);
}

interface Reader {
  readonly source: string;
  at: number;
  /** Whether case is ignored, for each open group; the last is the current one. */
  readonly ignoreCase: boolean[];
}

function translate(source: string): string {
  const reader: Reader = { source, at: 0, ignoreCase: [false] };
  let result = '';
  while (reader.at < source.length) result += nextToken(reader);
  return result;
}

function nextToken(reader: Reader): string {
  const rest = reader.source.slice(reader.at);
  const group = /^\((?:\?\^?([a-z]*):)?/.exec(rest);
  if (group) {
    const capturing = group[0] === '(';
    reader.ignoreCase.push(capturing ? currentlyIgnoringCase(reader) : (group[1] ?? '').includes('i'));
    reader.at += group[0].length;
    return capturing ? '(' : '(?:';
  }
  if (rest.startsWith('{,')) return take(reader, 2, '{0,');
  if (rest.startsWith('[')) return characterClass(reader);
  if (rest.startsWith('\\')) return take(reader, 2, escapeSequence(rest.charAt(1), false));
  const char = rest.charAt(0);
  if (char === ')') reader.ignoreCase.pop();
  if (char === '$') return take(reader, 1, '(?=\\n?$)');
  if (char === '.') return take(reader, 1, '[^\\n]');
  return take(reader, 1, currentlyIgnoringCase(reader) && /[a-zA-Z]/.test(char) ? `[${bothCases(char)}]` : char);
}

function take(reader: Reader, length: number, result: string): string {
  reader.at += length;
  return result;
}

function currentlyIgnoringCase(reader: Reader): boolean {
  return reader.ignoreCase.at(-1) ?? false;
}

/** A class has no nested ones in this schema, so the first unescaped `]` ends it. */
function characterClass(reader: Reader): string {
  const match = /^\[(\^?)((?:\\.|[^\]\\])*)\]/s.exec(reader.source.slice(reader.at));
  if (!match) throw new Error(`Unfinished character class in the pattern ${reader.source}`);
  reader.at += match[0].length;
  const members = (match[2] ?? '').match(/[a-zA-Z0-9]-[a-zA-Z0-9]|\\.|./gs) ?? [];
  return `[${match[1]}${members.map((member) => classMember(member, currentlyIgnoringCase(reader))).join('')}]`;
}

function classMember(member: string, ignoreCase: boolean): string {
  if (member.startsWith('\\')) return escapeSequence(member.charAt(1), true);
  if (ignoreCase && /^[a-zA-Z]/.test(member)) return bothCases(member);
  return /^[[\-(){}/|]$/.test(member) ? `\\${member}` : member;
}

function bothCases(text: string): string {
  return `${text.toLowerCase()}${text.toUpperCase()}`;
}

function escapeSequence(char: string, insideClass: boolean): string {
  if (char === 'd') return '\\p{Nd}';
  if (char === 'w') return insideClass ? '\\p{L}\\p{M}\\p{N}\\p{Pc}' : '[\\p{L}\\p{M}\\p{N}\\p{Pc}]';
  if (/[a-zA-Z0-9]/.test(char)) return `\\${char}`;
  if (char === '-') return insideClass ? '\\-' : '-';
  return /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}
