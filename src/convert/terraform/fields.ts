/** The settings of a block, or of an object in its place: one type for both, with comments. */
import type { Block, Body, Expression, ObjectEntry, ObjectExpression } from '../hcl/syntax.ts';
import { surrounded } from './comments.ts';
import type { Around } from './target.ts';

export interface Setting {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly around: Around;
  /** Of `name = value`. */
  readonly value?: Expression;
  /** Of `name { … }`. */
  readonly block?: Block;
}

export interface Settings {
  readonly settings: readonly Setting[];
  readonly below: readonly string[];
}

export function settingsOf(source: string, body: Body): Settings {
  const { items, below } = surrounded(source, body);
  const settings = items.map(({ item, around }) => ({
    name: item.kind === 'attribute' ? item.name : item.type,
    start: item.start,
    end: item.end,
    around,
    ...(item.kind === 'attribute' ? { value: item.value } : { block: item }),
  }));
  return { settings, below };
}

/** Keys that are not plain words keep their spelling. */
export function settingsOfObject(source: string, object: ObjectExpression): Settings {
  const span = { start: object.start + 1, end: object.end - 1, items: object.entries };
  const { items, below } = surrounded<ObjectEntry>(source, span);
  const settings = items.map(({ item, around }) => ({
    name: item.key.kind === 'literal' ? String(item.key.value) : source.slice(item.key.start, item.key.end),
    start: item.start,
    end: item.end,
    around,
    value: item.value,
  }));
  return { settings, below };
}
