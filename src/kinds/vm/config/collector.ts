/** Collects the desired value of each key while the fields of a VM are processed. */
import { invariant } from '../../../base/errors.ts';
import { printByteSize } from '../../../base/values/units.ts';
import { valueAt } from '../../fields/field-table.ts';
import { textOfWords, type WordKind, wordsOfText } from '../../fields/words.ts';
import type { WireRow } from '../fields/rows.ts';
import type { DesiredEntry, DesiredField, DesiredKey, SubKeys } from './desired.ts';

export class Collector {
  readonly entries = new Map<string, DesiredEntry>();

  add(key: string, desired: DesiredKey, fields: readonly DesiredField[]): void {
    invariant(!this.entries.has(key), `${key} is set twice.`);
    this.entries.set(key, { key, desired, fields });
  }

  remove(key: string, path: string): void {
    this.add(key, { kind: 'absent' }, [{ path: `${path}.remove`, value: true, words: 'removal', parts: [] }]);
  }

  /** A field that is the whole value of its key; an empty one unsets the key. */
  whole(key: string, field: Omit<DesiredField, 'parts'>): void {
    const text = textOfWords(field.words, field.value);
    this.add(key, text === undefined ? { kind: 'absent' } : { kind: 'value', text }, [{ ...field, parts: [] }]);
  }

  /** The field of a row, if its owner sets it. */
  bind(key: string, owner: object, row: WireRow, path: string): void {
    const value = fileValue(valueAt(owner, row.name), row.words);
    if (value === undefined) return;
    const { part, words } = row;
    const fieldPath = path === '' ? row.name : `${path}.${row.name}`;
    if (part === undefined) {
      this.whole(key, { path: fieldPath, value, words });
      return;
    }
    const excludes = row.facts.excludes ?? [];
    const set = { ...Object.fromEntries(excludes.map((name) => [name, undefined])), [part]: textOfWords(words, value) };
    this.property(key, set, [{ path: fieldPath, value, words, parts: [part, ...excludes] }]);
  }

  /** Adds sub-keys to a property string. */
  property(key: string, set: SubKeys, fields: readonly DesiredField[], base?: string): void {
    const before = this.entries.get(key);
    const earlier = before?.desired.kind === 'property' ? before.desired : undefined;
    const desired: DesiredKey = {
      kind: 'property',
      set: { ...earlier?.set, ...set },
      ...((base ?? earlier?.base) !== undefined && { base: base ?? earlier?.base ?? '' }),
    };
    this.entries.set(key, { key, desired, fields: [...(before?.fields ?? []), ...fields] });
  }

  /** The sub-keys an owner sets, without adding them: a drive's options belong to its volume. */
  parts(
    key: string,
    owner: object,
    rows: readonly WireRow[],
    path: string,
  ): { readonly set: SubKeys; readonly fields: readonly DesiredField[] } {
    const some = new Collector();
    for (const row of rows) some.bind(key, owner, row, path);
    const entry = some.entries.get(key);
    return { set: entry?.desired.kind === 'property' ? entry.desired.set : {}, fields: entry?.fields ?? [] };
  }
}

/** A resolved value as the file would write it; sizes and durations are numbers after resolution. */
export function fileValue(value: unknown, words: WordKind): unknown {
  if (typeof value !== 'number') return value;
  switch (words) {
    case 'mebibytes':
    case 'balloon':
    case 'disk-size':
      return printByteSize(value);
    case 'seconds':
      return wordsOfText('seconds', String(value / 1000), '');
    case 'milliseconds':
    case 'decimal-seconds':
      return wordsOfText('milliseconds', String(value), '');
    default:
      return value;
  }
}
