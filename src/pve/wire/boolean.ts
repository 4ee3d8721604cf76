/**
 * Booleans on the wire. At the top level of a request only 0 and 1 are accepted; inside property strings the server also
 * takes words, in any case; answers carry numbers, digits as text, or JSON booleans.
 * Mirrors parse_boolean of pve-common, src/PVE/JSONSchema.pm.
 */

export type WireBoolean = '0' | '1';

export function toWireBoolean(value: boolean): WireBoolean {
  return value ? '1' : '0';
}

/** `undefined` when the value is none of the spellings the server knows. */
export function fromWireBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const text = String(value).toLowerCase();
  if (/^(1|on|yes|true)$/.test(text)) return true;
  if (/^(0|off|no|false)$/.test(text)) return false;
  return undefined;
}
