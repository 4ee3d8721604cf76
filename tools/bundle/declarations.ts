/** The types of the library: of everything that its entry points export, and of nothing else. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LIBRARY, ROOT } from './bundle.ts';

const TSC = join(ROOT, 'node_modules', '@typescript', 'native', 'bin', 'tsc');

export async function writeDeclarations(directory: string): Promise<void> {
  const all = await mkdtemp(join(tmpdir(), 'proxwright-types-'));
  try {
    const options = ['--declaration', '--emitDeclarationOnly', '--sourceMap', 'false', '--outDir', all];
    await promisify(execFile)(process.execPath, [TSC, '-p', join(ROOT, 'tsconfig.build.json'), ...options]);
    for (const name of await reachable(all)) await cp(join(all, name), join(directory, name));
  } finally {
    await rm(all, { recursive: true, force: true });
  }
}

async function reachable(directory: string): Promise<Set<string>> {
  const found = new Set<string>();
  const waiting = LIBRARY.map((name) => `${name}.d.ts`);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const text = await readFile(join(directory, name), 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g)) {
      waiting.push(join(dirname(name), `${path}.d.ts`));
    }
  }
  return found;
}
