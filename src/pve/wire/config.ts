/** A guest's configuration as it arrives: a JSON object in random order, with numbers where one expects text and back. */
import { ProxwrightError } from '../../base/errors.ts';
import { fromWireBoolean, toWireBoolean } from './boolean.ts';
import { textOf } from './config-comparison.ts';
import { describeConfigKey } from './config-keys.ts';
import { canonicalDecimal } from './decimal.ts';
import { byCodeUnit } from './list.ts';

export interface VmConfig {
  /** Hash of the stored file; sent back with a change, it guards against somebody else's. */
  readonly digest: string | undefined;
  /** Every other key, unknown ones included, in alphabetical order. Property strings stand as the server sent them. */
  readonly values: ReadonlyMap<string, string>;
}

export function decodeConfig(raw: unknown): VmConfig {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw malformed('it is not an object');
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(raw).sort(([a], [b]) => byCodeUnit(a, b))) {
    if (value === null || value === undefined) continue;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw malformed(`${key} is neither a text nor a number`);
    }
    values.set(key, normalText(key, textOf(value) ?? ''));
  }
  const digest = values.get('digest');
  values.delete('digest');
  return { digest, values };
}

function normalText(key: string, text: string): string {
  const kind = describeConfigKey(key)?.kind;
  if (kind === 'description') return text;
  // One blank is how a value that was emptied is read back.
  if (text.trim() === '') return '';
  if (kind === 'boolean') {
    const truth = fromWireBoolean(text);
    return truth === undefined ? text : toWireBoolean(truth);
  }
  return kind === 'integer' || kind === 'number' ? canonicalDecimal(text) : text;
}

function malformed(reason: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_ANSWER', detail: `A guest's configuration cannot be read: ${reason}.` });
}
