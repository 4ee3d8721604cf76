/** Gathers what is wanted of each key while the fields of a VM are walked through. */
import { invariant } from '../../base/assert.ts';
import { printByteSize } from '../../base/units.ts';
import type { Binding } from './bindings.ts';
import type { DesiredEntry, DesiredField, DesiredKey, SubKeys } from './desired.ts';
import { textOfWords, type WordKind, wordsOfText } from './words.ts';

export class Collector {
  readonly entries = new Map<string, DesiredEntry>();

  add(key: string, desired: DesiredKey, fields: readonly DesiredField[]): void {
    invariant(!this.entries.has(key), `${key} is wanted twice.`);
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

  /** The field of a binding, if its owner sets it. */
  bind(key: string, owner: object, binding: Binding, path: string): void {
    const value = rawValue(valueAt(owner, binding.path), binding.words);
    if (value === undefined) return;
    const { part, words } = binding;
    const fieldPath = path === '' ? binding.path : `${path}.${binding.path}`;
    if (part === undefined) {
      this.whole(key, { path: fieldPath, value, words });
      return;
    }
    const set = {
      ...Object.fromEntries((binding.excludes ?? []).map((name) => [name, undefined])),
      [part]: textOfWords(words, value),
    };
    this.property(key, set, [{ path: fieldPath, value, words, parts: [part, ...(binding.excludes ?? [])] }]);
  }

  /** More sub-keys of a property string. */
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
    bindings: readonly Binding[],
    path: string,
  ): { readonly set: SubKeys; readonly fields: readonly DesiredField[] } {
    const some = new Collector();
    for (const binding of bindings) some.bind(key, owner, binding, path);
    const entry = some.entries.get(key);
    return { set: entry?.desired.kind === 'property' ? entry.desired.set : {}, fields: entry?.fields ?? [] };
  }
}

/** A resolved field as the file would write it; sizes and durations are numbers after resolution. */
export function rawValue(value: unknown, words: WordKind): unknown {
  if (typeof value !== 'number') return value;
  switch (words) {
    case 'mebibytes':
    case 'balloon':
    case 'disk-size':
      return printByteSize(value);
    case 'seconds':
      return wordsOfText('seconds', String(value / 1000), '');
    default:
      return value;
  }
}

function valueAt(owner: object, path: string): unknown {
  return path.split('.').reduce<unknown>(
    // Owners are plain data, so a missing step is simply undefined.
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    owner,
  );
}
