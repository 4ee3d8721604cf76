/** A script as a program for Windows. Whatever machine packs it runs a Node of the same version to prepare the script. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeRuntime, nodeRuntime } from './node-runtime.ts';
import { ownPlatform } from './platforms.ts';
import { singleExecutable } from './single-executable.ts';

export async function windowsProgram(script: string, runtime: NodeRuntime): Promise<Uint8Array> {
  const node = runtime.files.find(({ name }) => name === runtime.node);
  if (!node) throw new Error('The runtime has no Node.');
  const own = ownPlatform();
  if (!own) throw new Error('A program for Windows is packed on a machine that itself can have a package.');
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-node-'));
  try {
    const runNode = await installRuntime(await nodeRuntime(own), directory);
    return await singleExecutable({ script, node: node.bytes, runNode });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Returns how to run it. */
async function installRuntime(runtime: NodeRuntime, directory: string): Promise<[string, ...string[]]> {
  await mkdir(directory, { recursive: true });
  for (const { name, bytes } of runtime.files) await writeFile(join(directory, name), bytes, { mode: 0o755 });
  const node = join(directory, runtime.node);
  return runtime.loader ? [join(directory, runtime.loader), '--library-path', directory, node] : [node];
}
