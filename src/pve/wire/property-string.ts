/**
 * The grammar of all Proxmox property strings: `virtio=BC:24:11:00:00:01,bridge=vmbr0`. The sub-keys of a string are data
 * (`PropertyFormat`, see formats.ts); splitting, parsing, canonical printing and comparing are here. The parser keeps
 * unknown sub-keys, because a newer server may know them.
 * Mirrors parse_property_string and print_property_string of pve-common, src/PVE/JSONSchema.pm.
 */
import { invariant } from '../../base/errors.ts';
import { byCodeUnit, canonicalDecimal, fromWireBoolean, parseSize, printSize, toWireBoolean } from './scalars.ts';

export interface SubKey {
  /** A `list` has elements separated by `;`. */
  readonly type: 'string' | 'boolean' | 'integer' | 'number' | 'disk-size' | 'list';
  readonly required?: true;
  /** What the server assumes if the sub-key is absent; stated only where it is the same for every guest. */
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
  /** The sub-key whose name may be omitted. */
  readonly defaultKey: string | undefined;
  /** Other name → proper name. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Names that set two sub-keys in one part: in `virtio=MAC` the name goes to `nameKey` and the value to `valueKey`. */
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

/** The sub-keys of one property string under their proper names, in order of appearance. Immutable. */
export class PropertyValue {
  readonly entries: ReadonlyMap<string, string>;
  /** Parts without a key in a format that has no default key: not interpreted, kept for printing. */
  readonly bare: readonly string[];

  constructor(entries: Iterable<readonly [string, string]> = [], bare: readonly string[] = []) {
    this.entries = new Map(entries);
    this.bare = bare;
  }

  get(key: string): string | undefined {
    return this.entries.get(key);
  }

  /** A copy with one sub-key set, or removed by `undefined`. */
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
 * The parts between commas, without blank ones. A part that starts or ends with `=` has an empty key or value; the server
 * rejects both.
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
 * In the order of the server: the default key first and bare (a pair as `<name>=<value>`), then the required sub-keys, then the
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
      // A bare value that contains `=` would be read back as key and value.
      return key === defaultKey && !printed.includes('=') ? printPart(undefined, printed) : printPart(key, printed);
    });
  return [...parts, ...value.bare].join(',');
}

/** Builds a format from plain data; few formats have a `defaultKey`, `aliases` or a `pair`. */
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

/**
 * Ignores what has no meaning: explicit defaults, spellings of booleans and numbers, case where it does not matter, and the
 * order of sets. It compares canonical texts, so it is an equivalence by construction.
 */
export function equalProperty(format: PropertyFormat, a: PropertyValue, b: PropertyValue): boolean {
  return canonicalProperty(format, a) === canonicalProperty(format, b);
}

/** One text per meaning. Not a property string: for comparing only. */
export function canonicalProperty(format: PropertyFormat, value: PropertyValue): string {
  const entries = [...value.entries]
    .map(([key, text]) => [key, meaningOfSubKey(format.keys.get(key), text)] as const)
    .filter(([, text]) => text !== undefined)
    .sort(([a], [b]) => byCodeUnit(a, b));
  return JSON.stringify([entries, [...value.bare].sort(byCodeUnit)]);
}

/** Whether two texts of one sub-key mean the same; an absent one means the default of the server. */
export function equalSubKey(
  format: PropertyFormat,
  key: string,
  a: string | undefined,
  b: string | undefined,
): boolean {
  return a === b || meaningOfSubKey(format.keys.get(key), a) === meaningOfSubKey(format.keys.get(key), b);
}

/** Undefined for what means the default. */
function meaningOfSubKey(subKey: SubKey | undefined, text: string | undefined): string | undefined {
  const canonical = text === undefined ? undefined : canonicalText(subKey, text);
  return canonical === canonicalDefault(subKey) ? undefined : canonical;
}

function canonicalDefault(subKey: SubKey | undefined): string | undefined {
  return subKey?.default === undefined ? undefined : canonicalText(subKey, subKey.default);
}

function canonicalText(subKey: SubKey | undefined, text: string): string {
  switch (subKey?.type) {
    case 'boolean': {
      const truth = fromWireBoolean(text);
      return truth === undefined ? text : toWireBoolean(truth);
    }
    case 'integer':
    case 'number':
      return canonicalDecimal(text);
    case 'disk-size':
      return String(parseSize(text) ?? text);
    case 'list': {
      const elements = text.split(';').filter((element) => element.trim() !== '');
      const folded = elements.map((element) => foldCase(subKey, element.trim()));
      return (subKey.ordered ? folded : [...new Set(folded)].sort(byCodeUnit)).join(';');
    }
    default:
      return foldCase(subKey, text);
  }
}

function foldCase(subKey: SubKey | undefined, text: string): string {
  return subKey?.caseFold ? text.toLowerCase() : text;
}
