/**
 * Builds `dist/`: the command, the library with its types, and the licences of what is inside.
 *
 *   npm run build [-- --out DIR]
 */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { toolArguments } from './arguments.ts';
import { bundleCommand, bundledPackages, bundleLibrary, ROOT } from './bundle/bundle.ts';
import { writeDeclarations } from './bundle/declarations.ts';
import { thirdPartyNotices } from './bundle/third-parties.ts';

const { values } = toolArguments('npm run build [-- --out DIR]', {
  options: { out: { type: 'string', default: join(ROOT, 'dist') } },
});
const directory = resolve(values.out);
// Beside the old one until it is complete: a command that runs meanwhile finds its files, and a failed build leaves them.
const unfinished = `${directory}.${process.pid}`;
await mkdir(dirname(directory), { recursive: true });
try {
  const [command, library] = await Promise.all([
    bundleCommand(join(unfinished, 'cli')),
    bundleLibrary(unfinished),
    writeDeclarations(unfinished),
  ]);
  await writeFile(join(unfinished, 'THIRD-PARTIES.txt'), await thirdPartyNotices(bundledPackages([command, library])));
  await rm(directory, { recursive: true, force: true });
  await rename(unfinished, directory);
} finally {
  await rm(unfinished, { recursive: true, force: true });
}
