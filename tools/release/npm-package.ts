/** What the npm package consists of besides `dist`. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../bundle/bundle.ts';

/**
 * Copies it into a directory. The manifest loses what only a checkout needs: npm asks whoever installs a tarball whether to trust its
 * scripts, although none of them could run there.
 */
export async function stageNpmPackage(staging: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const { scripts: _, devDependencies: __, ...published } = manifest;
  const names = manifest.files.filter((name) => name !== 'dist' && !name.startsWith('!'));
  await mkdir(staging, { recursive: true });
  for (const name of ['README.md', 'LICENSE', ...names]) {
    await cp(join(ROOT, name), join(staging, name), { recursive: true });
  }
  await writeFile(join(staging, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
}

interface Manifest {
  readonly files: readonly string[];
  readonly scripts: unknown;
  readonly devDependencies: unknown;
}
