/**
 * Which files of `import()` are loaded together. Left to itself, the bundler makes a chunk of whatever any two of them share: dozens
 * of small files, and reading files is what a start spends its time on.
 */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'esbuild';
import { ROOT } from './bundle.ts';

const GROUPS = [
  { name: 'offline', has: /[\\/](validate|completion|read)\.ts$/ },
  { name: 'simulated', has: /[\\/](sim|demo)\.ts$/ },
  { name: 'page', has: /[\\/]commands[\\/]ui\.ts$/ },
  { name: 's3', has: /[\\/](s3-\w+|aws-credentials)\.ts$/ },
  { name: 'postgres', has: /[\\/]postgres-\w+\.ts$/ },
  { name: 'commands', has: /[\\/]cli[\\/].*\.ts$/ },
];

const groupOf = (file: string) => GROUPS.find(({ has }) => has.test(file))?.name;

export async function lazyGroups(): Promise<Plugin> {
  const files = await lazilyLoaded();
  return {
    name: 'lazy-groups',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        const group = kind === 'dynamic-import' ? groupOf(resolve(resolveDir, path)) : undefined;
        return group === undefined ? undefined : { path: group, namespace: 'lazy-group' };
      });
      onLoad({ filter: /.*/, namespace: 'lazy-group' }, ({ path }) => ({
        contents: files
          .filter((file) => groupOf(file) === path)
          .map((file) => `export * from ${JSON.stringify(file)};`)
          .join('\n'),
        resolveDir: ROOT,
      }));
    },
  };
}

/** Every file of ours that some file of the command loads with `import()`. */
async function lazilyLoaded(): Promise<string[]> {
  const found = new Set<string>();
  for (const entry of await readdir(join(ROOT, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/(?<!\.test)\.ts$/.test(entry.name) || /[\\/](provider|testing)\b/.test(entry.parentPath))
      continue;
    const file = join(entry.parentPath, entry.name);
    for (const [, path = ''] of (await readFile(file, 'utf8')).matchAll(/\bimport\('(\.[^']+)'\)/g)) {
      found.add(resolve(dirname(file), path));
    }
  }
  return [...found].sort();
}
