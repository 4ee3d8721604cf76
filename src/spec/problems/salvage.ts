/** Finds the usable parts of a tree that a schema rejects, and the paths of the others. */
import type { z } from 'zod';
import { invariant } from '../../base/errors.ts';
import { closest } from '../../base/text/closest.ts';
import { descendant, type LocatedMap, type Path, toPlain, walk, withoutPath } from '../located.ts';
import { pathOf } from './issues.ts';
import { homeOf, keysAt } from './schema-walk.ts';

export interface Salvaged<Fields> {
  readonly fields: Fields;
  /** Paths with a mistake or an unknown value, and those replaced by a placeholder. */
  readonly tainted: readonly Path[];
}

/**
 * Removes faulty fields, and fields that depend on them, until the rest passes. Placeholders replace required fields.
 */
export function salvage<Schema extends z.ZodType>(
  schema: Schema,
  tree: LocatedMap,
  placeholders: Readonly<Record<string, unknown>>,
): Salvaged<z.output<Schema>> {
  const tainted: Path[] = [];
  let rest = tree;
  const takeOut = (path: Path) => {
    const whole = wholeOf(rest, path);
    tainted.push(whole);
    rest = withoutPath(rest, whole);
  };
  for (const path of unknownPaths(tree)) if (descendant(rest, path)) takeOut(path);
  for (;;) {
    const lacking = Object.entries(placeholders).filter(([key]) => !rest.entries.has(key));
    for (const [key] of lacking) if (!tainted.some(([first]) => first === key)) tainted.push([key]);
    const result = schema.safeParse({ ...Object.fromEntries(lacking), ...(toPlain(rest) as object) });
    if (result.success) return { fields: result.data, tainted };
    const before = rest;
    for (const issue of result.error.issues) {
      const path = pathOf(issue);
      const strangers = issue.code === 'unrecognized_keys' ? issue.keys : undefined;
      tainted.push(...(strangers ?? []).flatMap((key) => meantPaths(key, path, schema)));
      const faulty = strangers?.map((key) => [...path, key]) ?? [path];
      for (const each of faulty) {
        if (descendant(rest, each)) takeOut(each);
        else if (each.length > 1 && descendant(rest, each.slice(0, -1))) takeOut(each.slice(0, -1));
      }
    }
    invariant(rest !== before, 'Removing a faulty field must change the rest.');
  }
}

/** A mistyped key probably means a required one, so do not report that one as missing. */
function meantPaths(key: string, path: Path, schema: z.ZodType): readonly Path[] {
  const guess = closest(key, keysAt(schema, path));
  const home = path.length === 0 ? homeOf(key, schema) : undefined;
  return [...(guess === undefined ? [] : [[...path, guess]]), ...(home === undefined ? [] : [[home, key]])];
}

/** Removing an element would move the others, so the whole list is removed. */
function wholeOf(tree: LocatedMap, path: Path): Path {
  const list = path.findIndex((_, index) => descendant(tree, path.slice(0, index))?.kind === 'list');
  return list < 0 ? path : path.slice(0, list);
}

function unknownPaths(tree: LocatedMap): readonly Path[] {
  const paths: Path[] = [];
  walk(tree, (path, node) => {
    if (node.kind === 'unknown') paths.push(path);
  });
  return paths;
}
