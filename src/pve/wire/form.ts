/**
 * Parameters as `application/x-www-form-urlencoded`, for request bodies and for query strings.
 * The server splits pairs on `&` AND `;` and keeps only the first two pieces around `=` (decode_urlencoded in
 * pve-http-server), so every one of these characters inside a value must be escaped: property strings are full of them.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import { toWireBoolean } from './boolean.ts';
import { printDecimal } from './decimal.ts';
import { percentEncode } from './percent.ts';

export type FormScalar = string | number | boolean | Secret;
export type FormValue = FormScalar | readonly FormScalar[] | undefined;
export type FormParams = Readonly<Record<string, FormValue>>;

/** Arrays repeat their key; `undefined` is left out; booleans become 0 and 1, the only spelling accepted here. */
export function encodeForm(params: FormParams): string {
  return Object.entries(params)
    .flatMap(([key, value]) => scalarsOf(value).map((scalar) => `${percentEncode(key)}=${encodeScalar(key, scalar)}`))
    .join('&');
}

function scalarsOf(value: FormValue): readonly FormScalar[] {
  if (value === undefined) return [];
  return isList(value) ? value : [value];
}

/** `Array.isArray` alone does not narrow readonly arrays. */
function isList(value: FormScalar | readonly FormScalar[]): value is readonly FormScalar[] {
  return Array.isArray(value);
}

function encodeScalar(key: string, value: unknown): string {
  if (value instanceof Secret) return percentEncode(value.reveal());
  switch (typeof value) {
    case 'string':
      return percentEncode(value);
    case 'number':
      return percentEncode(printDecimal(value));
    case 'boolean':
      return toWireBoolean(value);
    default:
      // A null never unsets anything: the server ignores it or refuses the whole request. Unsetting is `delete=`.
      throw new ProxwrightError({
        code: 'INVARIANT',
        detail: `Parameter ${key} cannot be sent: its value is ${String(value)}.`,
      });
  }
}
