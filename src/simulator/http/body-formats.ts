/**
 * Decodes bodies. Forms and queries are read with all the habits of pveproxy: pairs end at `&` or `;`, only the first
 * two pieces around `=` count, keys are bytes, values UTF-8, repeated keys become a list [source HS AnyEvent.pm
 * decode_urlencoded]. Invalid JSON is refused with the messages of the decoder that pveproxy uses (JSON::XS): what was
 * expected, at which character, and what was found instead. `JSON.parse` reports neither.
 */
import { splitLikePerl } from '../schema/perl-text.ts';
import type { RawValue } from '../schema/types.ts';

type DecodedJson = { readonly ok: true; readonly value: RawValue } | { readonly ok: false; readonly message: string };

const NO_VALUE = 'malformed JSON string, neither tag, array, object, number, string or atom';
const MOST_LEVELS = 512;
const SHOWN_WIDTH = 20;

export function decodeJson(text: string): DecodedJson {
  const reader: Reader = { text, at: 0, depth: 0 };
  try {
    skipBlanks(reader);
    const value = readValue(reader);
    skipBlanks(reader);
    if (reader.at < text.length) throw new Malformed('garbage after JSON object', reader.at);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    const before = error.at < text.length ? shown(text.slice(error.at)) : '(end of string)';
    return { ok: false, message: `${error.message}, at character offset ${error.at} (before "${before}")` };
  }
}

interface Reader {
  readonly text: string;
  at: number;
  depth: number;
}

class Malformed extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

function readValue(reader: Reader): RawValue {
  const char = reader.text.charAt(reader.at);
  if (char === '"') return readString(reader);
  if (char === '[') return nested(reader, readArray);
  if (char === '{') return nested(reader, readObject);
  if (char === '-' || (char >= '0' && char <= '9')) return readNumber(reader);
  if (char === 't') return readWord(reader, 'true', true);
  if (char === 'f') return readWord(reader, 'false', false);
  if (char === 'n') return readWord(reader, 'null', null);
  throw new Malformed(NO_VALUE, reader.at);
}

function nested(reader: Reader, read: (reader: Reader) => RawValue): RawValue {
  reader.depth += 1;
  if (reader.depth > MOST_LEVELS) {
    throw new Malformed(
      'json text or perl structure exceeds maximum nesting level (max_depth set too low?)',
      reader.at,
    );
  }
  reader.at += 1;
  skipBlanks(reader);
  const value = read(reader);
  reader.at += 1;
  reader.depth -= 1;
  return value;
}

function readArray(reader: Reader): RawValue {
  const items: RawValue[] = [];
  while (reader.text[reader.at] !== ']' || items.length > 0) {
    items.push(readValue(reader));
    skipBlanks(reader);
    if (reader.text[reader.at] === ']') break;
    expect(reader, ',', ', or ] expected while parsing array');
  }
  return items;
}

function readObject(reader: Reader): RawValue {
  const entries = new Map<string, RawValue>();
  while (reader.text[reader.at] !== '}' || entries.size > 0) {
    if (reader.text[reader.at] !== '"') throw new Malformed(`'"' expected`, reader.at);
    const key = readString(reader);
    skipBlanks(reader);
    expect(reader, ':', "':' expected");
    entries.set(key, readValue(reader));
    skipBlanks(reader);
    if (reader.text[reader.at] === '}') break;
    expect(reader, ',', ', or } expected while parsing object/hash');
  }
  return Object.fromEntries(entries);
}

function expect(reader: Reader, char: string, complaint: string): void {
  if (reader.text[reader.at] !== char) throw new Malformed(complaint, reader.at);
  reader.at += 1;
  skipBlanks(reader);
}

function readWord<Word extends RawValue>(reader: Reader, word: string, value: Word): Word {
  if (!reader.text.startsWith(word, reader.at)) throw new Malformed(`'${word}' expected`, reader.at);
  reader.at += word.length;
  return value;
}

/** Whole numbers too long for a machine word stay text, as the decoder leaves them. */
function readNumber(reader: Reader): string | number {
  const rest = reader.text.slice(reader.at);
  const match = /^-?(0(?=\d)|0|[1-9]\d*|)(\.\d*)?([eE][+-]?\d*)?/.exec(rest);
  const [all = '', whole = '', fraction, exponent] = match ?? [];
  const end = reader.at + all.length;
  if (whole === '') throw new Malformed('malformed number (no digits after initial minus)', reader.at + 1);
  if (/^-?0\d/.test(rest)) {
    const at = reader.at + (rest.startsWith('-') ? 2 : 1);
    throw new Malformed('malformed number (leading zero must not be followed by another digit)', at);
  }
  if (fraction === '.') {
    const at = end - (exponent?.length ?? 0);
    throw new Malformed('malformed number (no digits after decimal point)', at);
  }
  if (exponent !== undefined && !/\d/.test(exponent)) {
    throw new Malformed('malformed number (no digits after exp sign)', end);
  }
  reader.at = end;
  const value = Number(all);
  return fraction === undefined && exponent === undefined && !Number.isSafeInteger(value) ? all : value;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function readString(reader: Reader): string {
  let result = '';
  for (reader.at += 1; reader.at < reader.text.length; reader.at += 1) {
    const char = reader.text.charAt(reader.at);
    if (char === '"') {
      reader.at += 1;
      return result;
    }
    if (char === '\\') result += readEscape(reader);
    else if (char < ' ') {
      const code = char.charCodeAt(0).toString(16).toUpperCase();
      throw new Malformed(`invalid character 0x${code} encountered while parsing JSON string`, reader.at);
    } else result += char;
  }
  throw new Malformed('unexpected end of string while parsing JSON string', reader.at);
}

/** Leaves the reader on the last character of the escape. */
function readEscape(reader: Reader): string {
  reader.at += 1;
  const char = reader.text.charAt(reader.at);
  if (char === 'u') {
    const hex = /^[0-9a-fA-F]{4}/.exec(reader.text.slice(reader.at + 1))?.[0];
    if (hex === undefined) throw new Malformed('malformed \\uXXXX character in JSON string', reader.at + 1);
    reader.at += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }
  const plain = Object.hasOwn(ESCAPES, char) ? ESCAPES[char] : undefined;
  if (plain === undefined) throw new Malformed('illegal backslash escape sequence in string', reader.at);
  return plain;
}

function skipBlanks(reader: Reader): void {
  while (/[ \t\r\n]/.test(reader.text.charAt(reader.at))) reader.at += 1;
}

/** The next characters as Perl shows them: special ones escaped, cut off after a while. */
function shown(rest: string): string {
  const escapes: Readonly<Record<string, string>> = {
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
    '\f': '\\f',
    '\\': '\\\\',
  };
  let result = '';
  for (const char of rest) {
    if (result.length >= SHOWN_WIDTH) return `${result}...`;
    const code = char.codePointAt(0) ?? 0;
    const isPlain = code >= 0x20 && code < 0x7f;
    result += escapes[char] ?? (isPlain ? char : `\\x{${code.toString(16)}}`);
  }
  return result;
}

/** `data` has one character per byte. */
export function decodeForm(data: string): Map<string, RawValue> {
  const params = new Map<string, RawValue>();
  if (data === '0') return params; // false to Perl, so "no data"
  for (const pair of splitLikePerl(data, /[&;]/)) {
    const [rawKey = '', rawValue] = pair === '' ? [] : pair.split('=');
    const key = percentDecode(rawKey.replaceAll('+', ' '));
    if (rawValue === undefined) {
      params.set(key, null); // also forgets earlier values
      continue;
    }
    const value = utf8(percentDecode(rawValue.replaceAll('+', ' ')));
    const earlier = params.get(key) ?? null;
    if (earlier === null) params.set(key, value);
    else params.set(key, Array.isArray(earlier) ? [...earlier, value] : [earlier, value]);
  }
  return params;
}

/** To bytes, one per character; a stray `%` stays. */
export function percentDecode(text: string): string {
  return text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** Reads bytes (one per character) as UTF-8; wrong ones become U+FFFD. */
export function utf8(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
