/**
 * Values that know where they were written. A stack file becomes a tree of these, and every later step (expressions,
 * merging, ranges) keeps the positions, so a problem with the result can still point at the line that caused it.
 */
import type { Where } from '../base/diagnostics.ts';
import { quotedText } from '../base/text/safe-text.ts';

export type ScalarValue = string | number | boolean | null;

export interface Entry {
  readonly keyAt: Where;
  readonly value: Located;
}

interface Common {
  readonly at: Where;
  /** From a variable whose values must not be shown. */
  readonly sensitive?: true;
}

export interface LocatedScalar extends Common {
  readonly kind: 'scalar';
  readonly value: ScalarValue;
}

export interface LocatedList extends Common {
  readonly kind: 'list';
  readonly items: readonly Located[];
}

export interface LocatedMap extends Common {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Entry>;
}

/** A value that is unknown because of a problem already reported. It causes no further problems. */
export interface LocatedUnknown extends Common {
  readonly kind: 'unknown';
}

export type Located = LocatedScalar | LocatedList | LocatedMap | LocatedUnknown;

export type Path = readonly (string | number)[];

export function scalar(value: ScalarValue, at: Where): LocatedScalar {
  return { kind: 'scalar', value, at };
}

export function emptyMap(at: Where): LocatedMap {
  return { kind: 'map', entries: new Map(), at };
}

export function unknownAt(at: Where): LocatedUnknown {
  return { kind: 'unknown', at };
}

export function child(node: Located | undefined, part: string | number): Located | undefined {
  if (node?.kind === 'map') return node.entries.get(String(part))?.value;
  if (node?.kind === 'list') return node.items[Number(part)];
  return undefined;
}

export function descendant(node: Located, path: Path): Located | undefined {
  return path.reduce<Located | undefined>(child, node);
}

/** The same map without some keys. */
export function withoutKeys(node: LocatedMap, keys: ReadonlySet<string>): LocatedMap {
  return { ...node, entries: new Map([...node.entries].filter(([key]) => !keys.has(key))) };
}

/** The same map with one value replaced, or without the key if the value is undefined. */
export function withEntry(node: LocatedMap, key: string, entry: Entry | undefined): LocatedMap {
  const entries = new Map(node.entries);
  if (entry) entries.set(key, entry);
  else entries.delete(key);
  return { ...node, entries };
}

/** The same map without the value at a path; the path leads through maps only. */
export function withoutPath(node: LocatedMap, [key, ...rest]: Path): LocatedMap {
  const name = String(key);
  const entry = node.entries.get(name);
  if (!entry) return node;
  if (rest.length === 0 || entry.value.kind !== 'map') return withEntry(node, name, undefined);
  return withEntry(node, name, { ...entry, value: withoutPath(entry.value, rest) });
}

/** Plain data for a schema. What is unknown becomes undefined. */
export function toPlain(node: Located): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'unknown':
      return undefined;
    case 'list':
      return node.items.map(toPlain);
    case 'map':
      return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, toPlain(value)]));
  }
}

/** Calls back for the node and everything inside it, parents first. */
export function walk(node: Located, visit: (path: Path, node: Located, keyAt?: Where) => void, path: Path = []): void {
  visit(path, node);
  walkInside(node, visit, path);
}

function walkInside(node: Located, visit: (path: Path, node: Located, keyAt?: Where) => void, path: Path): void {
  if (node.kind === 'list') {
    node.items.forEach((item, index) => {
      visit([...path, index], item);
      walkInside(item, visit, [...path, index]);
    });
  } else if (node.kind === 'map') {
    for (const [key, { value, keyAt }] of node.entries) {
      visit([...path, key], value, keyAt);
      walkInside(value, visit, [...path, key]);
    }
  }
}

/** Path (`nics.net0.vlan`) → where its value was written; '' is where the whole is named. */
export function positionsOf(tree: LocatedMap, at: Where): Readonly<Record<string, Where>> {
  const positions: Record<string, Where> = {};
  walk(tree, (path, node) => {
    positions[path.join('.')] = node.at;
  });
  return { ...positions, '': at };
}

/** A copy with the position where a value is used, for values that come from no file. */
export function relocated(node: Located, at: Where): Located {
  switch (node.kind) {
    case 'scalar':
    case 'unknown':
      return { ...node, at };
    case 'list':
      return { ...node, at, items: node.items.map((item) => relocated(item, at)) };
    case 'map':
      return {
        ...node,
        at,
        entries: new Map(
          [...node.entries].map(([key, { value }]) => [key, { keyAt: at, value: relocated(value, at) }]),
        ),
      };
  }
}

/** A copy in which every part is marked as sensitive. */
export function concealed(node: Located): Located {
  switch (node.kind) {
    case 'scalar':
    case 'unknown':
      return { ...node, sensitive: true };
    case 'list':
      return { ...node, sensitive: true, items: node.items.map(concealed) };
    case 'map':
      return {
        ...node,
        sensitive: true,
        entries: new Map([...node.entries].map(([key, entry]) => [key, { ...entry, value: concealed(entry.value) }])),
      };
  }
}

/** For messages: short, quoted, on one line. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? quotedText(value) : String(value);
  return text.length > 70 ? `${text.slice(0, 60)}…"` : text;
}

/** What a node is, for messages about a wrong kind of value. */
export function describeKind(node: Located): string {
  switch (node.kind) {
    case 'list':
      return 'a list';
    case 'map':
      return 'a map';
    case 'unknown':
      return 'unknown';
    case 'scalar':
      return node.value === null ? 'nothing' : quote(node.value);
  }
}
