/**
 * Percent-encoding, and parameters as `application/x-www-form-urlencoded` for request bodies and query strings.
 * The server splits pairs at `&` AND `;` and keeps only the first two pieces around `=` (decode_urlencoded in
 * pve-http-server). Property strings are full of these characters, so everything but letters, digits and `-_.~` is escaped.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import { printDecimal, toWireBoolean } from './scalars.ts';

/**
 * Safe as a form key, a form value and a path component. Stricter than `encodeURIComponent`, which leaves `!'()*`
 * alone: the server accepts both, and the strict form has only one spelling per text.
 */
export function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  } catch (cause) {
    throw new ProxwrightError({
      code: 'INVARIANT',
      detail: 'A parameter contains half a surrogate pair.',
      cause,
    });
  }
}

/** Text that is not well encoded is returned unchanged. */
export function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export type FormScalar = string | number | boolean | Secret;
export type FormValue = FormScalar | readonly FormScalar[] | undefined;
export type FormParams = Readonly<Record<string, FormValue>>;

/** Arrays repeat their key; `undefined` is left out; booleans become 0 and 1, the only spelling that the server accepts here. */
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
      // A null does not unset anything: the server ignores it or rejects the whole request. `delete=` unsets.
      throw new ProxwrightError({
        code: 'INVARIANT',
        detail: `Parameter ${key} cannot be sent: its value is ${String(value)}.`,
      });
  }
}
