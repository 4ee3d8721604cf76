/** The two forms of a package: our script alone, for machines that have Node, and the script with a Node of its own. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProvider } from './bundle.ts';
import { type NodeRuntime, nodeRuntime, runtimeNotice } from './node-runtime.ts';
import type { PackageFile } from './package-files.ts';
import { ownPlatform, type Platform, programName } from './platforms.ts';
import { singleExecutable } from './single-executable.ts';

export const FORMS = ['script', 'executable'] as const;
export type Form = (typeof FORMS)[number];

/** Windows cannot start a script by its first line. */
export function canHave(form: Form, platform: Platform): boolean {
  return form === 'executable' || !platform.startsWith('windows');
}

export async function bundledScript(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-bundle-'));
  try {
    const path = join(directory, 'provider.cjs');
    await bundleProvider(path);
    return await readFile(path, 'utf8');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The same files for every platform: one entry in a lock file serves all. */
export function scriptPackage(script: string, version: string): PackageFile[] {
  return [{ name: programName(version, '.cjs'), isExecutable: true, bytes: Buffer.from(script) }];
}

export async function executablePackage(script: string, version: string, platform: Platform): Promise<PackageFile[]> {
  const runtime = await nodeRuntime(platform);
  const notice = { name: 'NOTICE.txt', isExecutable: false, bytes: Buffer.from(runtimeNotice(runtime)) };
  if (platform.startsWith('windows')) {
    const bytes = await windowsProgram(script, runtime);
    return [{ name: programName(version, '.exe'), isExecutable: true, bytes }, notice];
  }
  const runtimeFiles = runtime.files.map((file) => ({ ...file, name: `runtime/${file.name}` }));
  return [
    { name: programName(version), isExecutable: true, bytes: Buffer.from(launcher(runtime)) },
    { name: 'runtime/provider.cjs', isExecutable: false, bytes: Buffer.from(script) },
    ...runtimeFiles,
    notice,
  ];
}

/** Replaces itself: signals and the end of the process are Node's. */
function launcher({ node, loader }: NodeRuntime): string {
  const program = `"$here/${node}" "$here/provider.cjs" "$@"`;
  const command = loader ? `"$here/${loader}" --library-path "$here" ${program}` : program;
  return `#!/bin/sh\nhere="\${0%/*}/runtime"\nexec ${command}\n`;
}

async function windowsProgram(script: string, runtime: NodeRuntime): Promise<Uint8Array> {
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
