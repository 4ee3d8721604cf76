/**
 * What the command needs from its package besides code, found relative to the running code: sources and build are
 * equally deep below its root. In a single executable there are no files; the build replaces this one
 * (`tools/release/command-package.ts`).
 */
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function packageVersion(): string {
  const text = readFileSync(join(ROOT, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version; // our own file
}

/** The text of each file of an example, by name. */
export async function exampleFiles(example: string): Promise<ReadonlyMap<string, string>> {
  const directory = join(ROOT, 'examples', example);
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  return new Map(names.map((name, index) => [name, texts[index] ?? '']));
}
