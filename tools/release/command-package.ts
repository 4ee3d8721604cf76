/** The command with a Node of its own: on Linux and macOS a launcher beside an untouched Node, on Windows a single program. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { EXAMPLE_NAMES } from '../../src/cli/examples.ts';
import { exampleFiles } from '../../src/cli/package.ts';
import { bundleSingle, ROOT } from '../bundle/bundle.ts';
import { type NodeRuntime, nodeRuntime, runtimeNotice } from '../provider/node-runtime.ts';
import type { PackageFile } from '../provider/package-files.ts';
import { type Platform, packageVersion } from '../provider/platforms.ts';
import { windowsProgram } from '../provider/windows-program.ts';

export const commandArchive = (version: string, platform: Platform) => `proxwright_${version}_${platform}.zip`;

/** The folder in an archive. */
export const commandFolder = (version: string) => `proxwright-${version}`;

/** `dist` is a build with the drivers inside. */
export async function commandPackage(platform: Platform, dist: string): Promise<PackageFile[]> {
  const runtime = await nodeRuntime(platform);
  const files = platform.startsWith('windows')
    ? [program('proxwright.exe', await windowsProgram(await singleScript(), runtime))]
    : [program('proxwright', Buffer.from(launcher(runtime))), ...runtimeFiles(runtime), ...(await library(dist))];
  const texts = [
    text('NOTICE.txt', Buffer.from(runtimeNotice(runtime))),
    text('THIRD-PARTIES.txt', await readFile(join(dist, 'THIRD-PARTIES.txt'))),
    ...(await Promise.all(
      ['LICENSE', 'man/proxwright.1'].map(async (name) => text(name, await readFile(join(ROOT, name)))),
    )),
  ];
  return [...files, ...texts].map((file) => ({ ...file, name: `${commandFolder(packageVersion())}/${file.name}` }));
}

const program = (name: string, bytes: Uint8Array): PackageFile => ({ name, isExecutable: true, bytes });
const text = (name: string, bytes: Uint8Array): PackageFile => ({ name, isExecutable: false, bytes });

function runtimeFiles(runtime: NodeRuntime): PackageFile[] {
  return runtime.files.map((file) => ({ ...file, name: `runtime/${file.name}` }));
}

/** The files of the npm package that the command needs, as they lie there. */
async function library(dist: string): Promise<PackageFile[]> {
  const folders = { bin: join(ROOT, 'bin'), 'dist/cli': join(dist, 'cli'), examples: join(ROOT, 'examples') };
  const files = Object.entries(folders).map(async ([name, directory]) => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const found = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return found.map(async (path) =>
      text(`lib/${name}${path.slice(directory.length).replaceAll('\\', '/')}`, await readFile(path)),
    );
  });
  const manifest = text('lib/package.json', await readFile(join(ROOT, 'package.json')));
  return [manifest, ...(await Promise.all((await Promise.all(files)).flat()))];
}

/** Follows links, because people link a program into their PATH; then it replaces itself, so signals are Node's. */
function launcher({ node, loader }: NodeRuntime): string {
  const start = `"$here/runtime/${node}" "$here/lib/bin/proxwright.js" "$@"`;
  const command = loader ? `"$here/runtime/${loader}" --library-path "$here/runtime" ${start}` : start;
  return `#!/bin/sh
self=$0
case $self in */*) ;; *) self=./$self ;; esac
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in /*) self=$target ;; *) self=\${self%/*}/$target ;; esac
done
here=\${self%/*}
exec ${command}
`;
}

/** In a single program there are no files beside the code, so `src/cli/package.ts` gets their texts. */
export async function singleScript(): Promise<string> {
  const examples = await Promise.all(
    EXAMPLE_NAMES.map(async (name) => [name, Object.fromEntries(await exampleFiles(name))] as const),
  );
  const embedded: Plugin = {
    name: 'embedded-package',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/]cli[\\/]package\.ts$/ }, () => ({
        contents: `
          const EXAMPLES = ${JSON.stringify(Object.fromEntries(examples))};
          export const packageVersion = () => ${JSON.stringify(packageVersion())};
          export const exampleFiles = async (name) => new Map(Object.entries(EXAMPLES[name]));
        `,
      }));
    },
  };
  return bundleSingle(embedded);
}
