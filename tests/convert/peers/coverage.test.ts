/** The estates that the real providers make: how many configurations they have, and that they use whatever the mapping knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readModules } from '../../../src/convert/index.ts';
import { SOURCES } from '../../../src/convert/mapping/sources.ts';
import { mappedPaths, usedPaths } from './mapped-paths.ts';
import { OLDER, UNTRIED } from './older-spellings.ts';

const ESTATES = resolve(import.meta.dirname, 'estates');
const modules = readdirSync(ESTATES).flatMap((name) => {
  const tree = join(ESTATES, name, 'tree');
  const files = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  return readModules(new Map(paths.map((path) => [relative(tree, path), readFileSync(path, 'utf8')])));
});

describe('estates of other providers', () => {
  it.each(SOURCES.map((source) => [source.types[0] ?? '', source] as const))(
    'use every attribute of %s that the mapping knows',
    (type, source) => {
      const used = usedPaths(modules, source);
      const unused = [...mappedPaths(source.rows)].filter((path) => !used.has(path));
      expect(unused.sort()).toEqual([...(OLDER[type] ?? []), ...Object.keys(UNTRIED[type] ?? {})].sort());
    },
  );

  it('are many: each of these blocks is configured in its own way', () => {
    const blocks = modules.flatMap(({ resources }) => resources.filter(({ source }) => source !== undefined));
    expect(readdirSync(ESTATES).length).toBeGreaterThanOrEqual(30);
    expect(blocks.length).toBeGreaterThanOrEqual(240);
  });
});
