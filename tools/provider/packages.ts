/** The two forms of a package: our script alone, for machines that have Node, and the script with a Node of its own. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleProvider } from './bundle.ts';
import { type NodeRuntime, nodeRuntime, runtimeNotice } from './node-runtime.ts';
import type { PackageFile } from './package-files.ts';
import { type Platform, programName } from './platforms.ts';
import { windowsProgram } from './windows-program.ts';

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
