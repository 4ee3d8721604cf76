/** Sub-keys that a later release of Proxmox may add: random ones, in every property string of a configuration. */
import fc from 'fast-check';
import { formatOfKey } from '../../../pve/wire/index.ts';
import { printPropertyOf, propertyOf } from '../config/parts.ts';
import { rowsOfKey } from '../fields/rows.ts';

export interface UnknownPart {
  /** `scsi0`. */
  readonly key: string;
  readonly part: string;
  readonly value: string;
}

export interface WithUnknownParts {
  readonly values: ReadonlyMap<string, string>;
  readonly parts: readonly UnknownPart[];
}

/** Some keys get none, others up to three. */
export function withUnknownParts(values: ReadonlyMap<string, string>): fc.Arbitrary<WithUnknownParts> {
  const keys = [...values.keys()].filter(hasParts);
  const part = fc.record({
    key: fc.constantFrom(...(keys.length > 0 ? keys : [''])),
    part: fc.stringMatching(/^x[a-z]{1,6}([-_][a-z0-9]{1,4})?$/),
    value: fc.stringMatching(/^[A-Za-z0-9.:;/_-]{1,12}$/),
  });
  const parts = fc.uniqueArray(part, {
    minLength: keys.length,
    maxLength: 3 * keys.length,
    selector: ({ key, part: name }) => `${key} ${name}`,
  });
  return (keys.length === 0 ? fc.constant([]) : parts).map((all) => ({ values: withParts(values, all), parts: all }));
}

/** A property string with fields for its sub-keys; for other keys a field is the whole value. */
function hasParts(key: string): boolean {
  const rows = rowsOfKey(key);
  const isWhole = rows.some(({ part, words }) => part === undefined && words !== 'removal');
  return formatOfKey(key) !== undefined && rows.length > 0 && !isWhole;
}

function withParts(values: ReadonlyMap<string, string>, parts: readonly UnknownPart[]): Map<string, string> {
  const result = new Map(values);
  for (const { key, part, value } of parts) {
    result.set(key, printPropertyOf(key, propertyOf(key, result.get(key)).with(part, value)));
  }
  return result;
}
