/**
 * The `sshkeys` value: public keys, one per line, percent-encoded BEFORE the request is encoded as a form, and returned
 * still encoded. A blank must be `%20`; `+` and a bare `@` are refused with "invalid urlencoded string".
 */
import { byCodeUnit } from './list.ts';
import { percentDecode, percentEncode } from './percent.ts';

export function encodeSshKeys(keys: readonly string[]): string {
  return percentEncode(keys.join('\n'));
}

/** The keys of a stored value, trimmed, without empty lines. */
export function decodeSshKeys(encoded: string): string[] {
  return percentDecode(encoded)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Whether two stored values hold the same keys; their order means nothing to a guest. */
export function equalSshKeys(a: string, b: string): boolean {
  return canonicalSshKeys(a) === canonicalSshKeys(b);
}

export function canonicalSshKeys(encoded: string): string {
  return [...new Set(decodeSshKeys(encoded))].sort(byCodeUnit).join('\n');
}
