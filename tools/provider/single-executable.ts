/**
 * Node and a script in one file, Node's own way: the script is put into a copy of the program. Windows needs it, because
 * nothing but an `.exe` can be started there; elsewhere a launcher beside an untouched Node does, and keeps its signature.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readNpmPackage } from './archive-read.ts';
import { type Download, fetchDownload } from './downloads.ts';

/** Puts the script into programs for Windows, Linux and macOS from any of them. */
const POSTJECT: Download = {
  url: 'https://registry.npmjs.org/postject/-/postject-1.0.0-alpha.6.tgz',
  sha256: 'd1447b53e87d49ddaf7fb3350c870afafa72760eca47f6d5cce4cefd537e7d92',
};
/** Node looks for its script under these names. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** In a process of its own: it prints warnings about every program it is given. */
const INJECT = `
  const [postject, program, resource, blob, sentinelFuse] = process.argv.slice(1);
  require(postject).inject(program, resource, require('node:fs').readFileSync(blob), { sentinelFuse });
`;

export interface SingleExecutableOptions {
  readonly script: string;
  /** The program that receives the script, for whatever machine. */
  readonly node: Uint8Array;
  /** Runs a Node of the same version on this machine: what it prepares is read by that version only. */
  readonly runNode: readonly [program: string, ...args: string[]];
}

export async function singleExecutable({ script, node, runNode }: SingleExecutableOptions): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-sea-'));
  const within = (name: string) => join(directory, name);
  try {
    // As the body of a function it may not begin like a program.
    await writeFile(within('main.cjs'), script.replace(/^#!.*/, ''));
    const settings = { main: 'main.cjs', output: 'main.blob', disableExperimentalSEAWarning: true };
    await writeFile(within('sea.json'), JSON.stringify(settings));
    const [program, ...args] = runNode;
    await promisify(execFile)(program, [...args, '--experimental-sea-config', 'sea.json'], { cwd: directory });
    await writeFile(within('program'), node);
    await chmod(within('program'), 0o755);
    await writeFile(within('postject.cjs'), await postject());
    const files = [within('postject.cjs'), within('program'), RESOURCE, within('main.blob'), FUSE];
    await promisify(execFile)(process.execPath, ['-e', INJECT, ...files]);
    return await readFile(within('program'));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function postject(): Promise<Buffer> {
  const api = readNpmPackage(await fetchDownload(POSTJECT)).get('package/dist/api.js');
  if (!api) throw new Error('The package of postject has no dist/api.js.');
  return api;
}
