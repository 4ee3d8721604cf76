/**
 * Splits a property string (`virtio=AA:BB:…,bridge=vmbr0`) as the server does: bare values go to the default key,
 * aliases to their target. This checks only the grammar; values are checked elsewhere. [source PC JSONSchema.pm
 * parse_property_string]
 */
import { isFalse, splitLikePerl } from './perl-text.ts';
import type { PropertyFormat } from './types.ts';

export type PropertyValues = Map<string, string>;

type SplitProperty =
  | { readonly ok: true; readonly values: PropertyValues }
  | { readonly ok: false; readonly message: string };

export function splitPropertyString(format: PropertyFormat, text: string): SplitProperty {
  const values: PropertyValues = new Map();
  const defaultKey = Object.keys(format).find((key) => format[key]?.default_key);
  let sawBareValue = false;
  for (const part of splitLikePerl(text, ',')) {
    if (/^\s*$/.test(part)) continue;
    const pair = /^([^=]+)=([^\n]+)\n?$/.exec(part);
    let message: string | undefined;
    if (pair) {
      message = addPair(format, values, pair[1] ?? '', pair[2] ?? '');
    } else if (part.includes('=')) {
      message = 'missing key in comma-separated list property\n';
    } else if (defaultKey === undefined) {
      message = 'value without key, but schema does not define a default key\n';
    } else if (sawBareValue || !isFalse(values.get(defaultKey))) {
      message = duplicateKey(defaultKey);
    } else {
      sawBareValue = true;
      values.set(defaultKey, normalise(format, defaultKey, part));
    }
    if (message !== undefined) return { ok: false, message };
  }
  return { ok: true, values };
}

function addPair(format: PropertyFormat, values: PropertyValues, key: string, value: string): string | undefined {
  if (values.has(key)) return duplicateKey(key);
  const { alias, keyAlias } = (Object.hasOwn(format, key) ? format[key] : undefined) ?? {};
  if (alias === undefined) {
    // An unknown key is kept: the check of the whole string refuses it by name.
    values.set(key, normalise(format, key, value));
    return undefined;
  }
  if (keyAlias !== undefined) {
    if (values.has(keyAlias)) return `key alias '${keyAlias}' is already defined\n`;
    values.set(keyAlias, key);
  }
  if (values.has(alias)) return `key '${alias}' is already defined (via alias)\n`;
  values.set(alias, normalise(format, alias, value));
  return undefined;
}

function duplicateKey(key: string): string {
  return `duplicate key in comma-separated list property: ${key}\n`;
}

/** Inside property strings booleans may be words. */
function normalise(format: PropertyFormat, key: string, value: string): string {
  if (!Object.hasOwn(format, key) || format[key]?.type !== 'boolean') return value;
  if (/^(1|on|yes|true)\n?$/i.test(value)) return '1';
  if (/^(0|off|no|false)\n?$/i.test(value)) return '0';
  return value;
}
