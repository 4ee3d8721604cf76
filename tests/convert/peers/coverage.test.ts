/** The estates that the real providers make: how many configurations they have, and that they use whatever the mapping knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readModules } from '../../../src/convert/index.ts';
import { SOURCES } from '../../../src/convert/mapping/sources.ts';
import type { Module } from '../../../src/convert/terraform/module.ts';
import { mappedPaths, usedPaths } from './mapped-paths.ts';
import { OLDER, UNTRIED } from './older-spellings.ts';

const ESTATES = resolve(import.meta.dirname, 'estates');
const TREES = resolve(import.meta.dirname, '../trees');

function modulesIn(directory: string): readonly Module[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return readModules(new Map(paths.map((path) => [relative(directory, path), readFileSync(path, 'utf8')])));
}

const modules = readdirSync(ESTATES).flatMap((name) => modulesIn(join(ESTATES, name, 'tree')));
const exceptionsOf = (type: string) => [...(OLDER[type] ?? []), ...Object.keys(UNTRIED[type] ?? {})].sort();

describe('estates of other providers', () => {
  it.each(SOURCES.map((source) => [source.types[0] ?? '', source] as const))(
    'use every attribute of %s that the mapping knows',
    (type, source) => {
      const used = usedPaths(modules, source);
      const unused = [...mappedPaths(source.rows)].filter((path) => !used.has(path));
      expect(unused.sort()).toEqual(exceptionsOf(type));
    },
  );

  it('leave out only what a tree with a committed conversion has', () => {
    const trees = readdirSync(TREES).flatMap((name) => modulesIn(join(TREES, name, 'before')));
    const missing = SOURCES.flatMap((source) => {
      const [type = ''] = source.types;
      const used = usedPaths(trees, source);
      return exceptionsOf(type).filter((path) => !used.has(path));
    });
    expect(missing).toEqual([]);
  });

  it('are many: each of these blocks is configured in its own way', () => {
    const blocks = modules.flatMap(({ resources }) => resources.filter(({ source }) => source !== undefined));
    expect(readdirSync(ESTATES).length).toBeGreaterThanOrEqual(43);
    expect(blocks.length).toBeGreaterThanOrEqual(255);
  });
});
