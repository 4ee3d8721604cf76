/**
 * Property strings for handlers: the same strict check a request goes through, and the parsed sub-values.
 * A tolerant reading of stored configuration is the business of `pve/wire`.
 */
import { type CheckedProperty, checkFormat, checkPropertyString } from './check.ts';
import { formatNamed } from './formats.ts';
import { splitPropertyString } from './property-grammar.ts';
import type { PropertyFormat, ValidationContext } from './types.ts';

/**
 * Parses `text` by a format of the schema or the name of a registered one. `path` is the name shown in complaints
 * (`net0`); the message has the line feeds the server puts behind it.
 */
export function parseStrictProperty(
  format: string | PropertyFormat,
  text: string,
  path: string,
  context: ValidationContext = {},
): CheckedProperty {
  if (typeof format !== 'string') return checkPropertyString(format, text, path, context);
  const message = checkFormat(format, text, path, context);
  if (message !== undefined) return { ok: false, message };
  const registered = formatNamed(format);
  if (registered.kind !== 'property') return { ok: false, message: `unknown format: ${format}\n` };
  return splitPropertyString(registered.properties, text);
}
