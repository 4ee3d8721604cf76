/**
 * The one grammar of all Proxmox property strings: `virtio=BC:24:11:00:00:01,bridge=vmbr0`. What sub-keys a string may
 * have is data (`PropertyFormat`, see formats/); splitting, parsing and canonical printing are here. The parser is
 * tolerant: sub-keys it does not know are kept, because a newer server may know them.
 * Mirrors parse_property_string and print_property_string of pve-common, src/PVE/JSONSchema.pm.
 */
import { invariant } from '../../base/assert.ts';
import { fromWireBoolean, toWireBoolean } from './boolean.ts';
import { byCodeUnit } from './list.ts';
import { parseSize, printSize } from './size.ts';

export interface SubKey {
  /** A `list` has elements separated by `;`. */
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'disk-size' | 'list';
  readonly required?: true;
  /** What the server assumes when the sub-key is absent; given only where that holds for every guest. */
  readonly default?: string;
  readonly enum?: readonly string[];
  /** Upper and lower case mean the same: MAC addresses, UUIDs, PCI ids. */
  readonly caseFold?: true;
  /** Of a list: the order of its elements matters. */
  readonly ordered?: true;
}

export interface PropertyFormat {
  readonly name: string;
  readonly keys: ReadonlyMap<string, SubKey>;
  /** The sub-key whose name may be left out. */
  readonly defaultKey: string | undefined;
  /** Other name → proper name. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Names that state two sub-keys in one part: of `virtio=MAC` the name goes to `nameKey`, the value to `valueKey`. */
  readonly pair:
    | { readonly names: ReadonlySet<string>; readonly nameKey: string; readonly valueKey: string }
    | undefined;
}

export interface PropertyPart {
  readonly key?: string;
  readonly value: string;
}

export type ParseResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/** The sub-keys of one property string under their proper names, in the order they were met. Immutable. */
export class PropertyValue {
  readonly entries: ReadonlyMap<string, string>;
  /** Parts without a key in a format that has no default key: meaningless to us, kept for printing. */
  readonly bare: readonly string[];

  constructor(entries: Iterable<readonly [string, string]> = [], bare: readonly string[] = []) {
    this.entries = new Map(entries);
    this.bare = bare;
  }

  get(key: string): string | undefined {
    return this.entries.get(key);
  }

  /** The same value with one sub-key set, or removed by `undefined`; everything else stays. */
  with(key: string, text: string | undefined): PropertyValue {
    const entries = new Map(this.entries);
    if (text === undefined) entries.delete(key);
    else entries.set(key, text);
    return new PropertyValue(entries, this.bare);
  }

  without(...keys: readonly string[]): PropertyValue {
    return new PropertyValue(
      [...this.entries].filter(([key]) => !keys.includes(key)),
      this.bare,
    );
  }
}

/**
 * The parts between commas, blank ones left out. A part that starts or ends with `=` has an empty key or value; the
 * server refuses both.
 */
export function splitProperty(text: string): PropertyPart[] {
  return text
    .split(',')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals < 0 ? { value: part } : { key: part.slice(0, equals), value: part.slice(equals + 1) };
    });
}

export function parseProperty(format: PropertyFormat, text: string): ParseResult<PropertyValue> {
  const entries = new Map<string, string>();
  const bare: string[] = [];
  for (const part of splitProperty(text)) {
    if (part.key === undefined && format.defaultKey === undefined) {
      bare.push(part.value);
      continue;
    }
    if (part.key === '' || part.value === '') return failure('missing key in comma-separated list property');
    for (const [key, value] of meaningOf(format, part)) {
      if (entries.has(key)) return failure(`duplicate key in comma-separated list property: ${key}`);
      entries.set(key, normalBoolean(format.keys.get(key), value));
    }
  }
  return { ok: true, value: new PropertyValue(entries, bare) };
}

/**
 * As the server prints: the default key first and bare (a pair as `<name>=<value>`), then the required sub-keys, then the
 * rest, each group sorted by name. Values are written as they are, except booleans and sizes, which have one spelling.
 */
export function printProperty(format: PropertyFormat, value: PropertyValue): string {
  const { pair, defaultKey } = format;
  const name = pair && value.get(pair.nameKey);
  const paired = pair && value.get(pair.valueKey);
  const isPair = pair !== undefined && name !== undefined && paired !== undefined && pair.names.has(name);
  const rank = (key: string) => (key === defaultKey ? 0 : format.keys.get(key)?.required ? 1 : 2);
  const parts = [...value.entries]
    .filter(([key]) => !(isPair && key === pair.valueKey))
    .sort(([a], [b]) => rank(a) - rank(b) || byCodeUnit(a, b))
    .map(([key, text]) => {
      if (isPair && key === pair.nameKey) return printPart(name, paired);
      const printed = printText(format.keys.get(key), text);
      // With `=` inside, a bare value would be read back as key and value.
      return key === defaultKey && !printed.includes('=') ? printPart(undefined, printed) : printPart(key, printed);
    });
  return [...parts, ...value.bare].join(',');
}

/** Builds a format from plain data; `defaultKey`, `aliases` and `pair` are the exceptional parts. */
export function defineFormat(
  name: string,
  keys: Readonly<Record<string, SubKey>>,
  extra: {
    readonly defaultKey?: string;
    readonly aliases?: Readonly<Record<string, string>>;
    readonly pair?: { readonly names: readonly string[]; readonly nameKey: string; readonly valueKey: string };
  } = {},
): PropertyFormat {
  return {
    name,
    keys: new Map(Object.entries(keys)),
    defaultKey: extra.defaultKey,
    aliases: new Map(Object.entries(extra.aliases ?? {})),
    pair: extra.pair && { ...extra.pair, names: new Set(extra.pair.names) },
  };
}

function meaningOf(format: PropertyFormat, { key, value }: PropertyPart): (readonly [string, string])[] {
  if (key === undefined) return format.defaultKey === undefined ? [] : [[format.defaultKey, value]];
  if (format.pair?.names.has(key)) {
    return [
      [format.pair.nameKey, key],
      [format.pair.valueKey, value],
    ];
  }
  return [[format.aliases.get(key) ?? key, value]];
}

function printText(subKey: SubKey | undefined, text: string): string {
  const sizeBytes = subKey?.type === 'disk-size' ? parseSize(text) : undefined;
  return sizeBytes === undefined ? normalBoolean(subKey, text) : printSize(sizeBytes);
}

function normalBoolean(subKey: SubKey | undefined, text: string): string {
  const truth = subKey?.type === 'boolean' ? fromWireBoolean(text) : undefined;
  return truth === undefined ? text : toWireBoolean(truth);
}

function printPart(key: string | undefined, text: string): string {
  const part = key === undefined ? text : `${key}=${text}`;
  invariant(
    key !== '' && text !== '' && part.trim() !== '' && !part.includes(',') && !part.includes('\n'),
    `${JSON.stringify(part)} cannot be a part of a property string: the grammar has no quoting.`,
  );
  return part;
}

function failure(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
