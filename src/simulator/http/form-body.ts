/**
 * Decodes queries and form bodies with all the habits of pveproxy: pairs end at `&` or `;`, only the first two pieces
 * around `=` count, keys are bytes, values UTF-8, repeated keys become a list.
 * [source HS AnyEvent.pm decode_urlencoded]
 */
import { splitLikePerl } from '../schema/perl-text.ts';
import type { RawValue } from '../schema/types.ts';

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
