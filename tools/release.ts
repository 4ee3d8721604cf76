/**
 * Makes a release in one directory and checks it: the npm package, the command and the provider with a Node of their own for
 * each platform, a list of what is inside (CycloneDX), and checksums. The same sources and versions give the same bytes.
 *
 *   npm run release [-- --out DIR] [-- --platforms linux_amd64,…] [-- --without-provider]
 */
import { resolve } from 'node:path';
import { refuseArguments, toolArguments } from './arguments.ts';
import { isPlatform, PLATFORMS } from './provider/platforms.ts';
import { checkRelease, DEFAULT_DIRECTORY } from './release/check-release.ts';
import { makeRelease } from './release/make-release.ts';

const USAGE = `npm run release -- [--out DIR] [--platforms LIST] [--without-provider]

  --out DIR           where the files go; what is there is removed (default: build/release)
  --platforms LIST    ${PLATFORMS.join(',')} (default: all)
  --without-provider  leave out the packages of the provider`;

const { values } = toolArguments(USAGE, {
  options: {
    out: { type: 'string', default: DEFAULT_DIRECTORY },
    platforms: { type: 'string', default: PLATFORMS.join() },
    'without-provider': { type: 'boolean', default: false },
  },
});
const platforms = values.platforms.split(',').map((name) => {
  return isPlatform(name) ? name : refuseArguments(`"${name}" is not a platform.`, USAGE);
});
const directory = resolve(values.out);
const { files, missing } = await makeRelease({
  directory,
  platforms,
  hasProvider: !values['without-provider'],
  say: console.log,
});
const problems = await checkRelease(directory, console.log);
for (const problem of problems) console.error(problem);
console.log(`\n${directory}\n${files.map((name) => `  ${name}`).join('\n')}`);
for (const { platform, reason } of missing) console.error(`${platform} is missing: ${reason}`);
process.exit(problems.length === 0 && missing.length === 0 ? 0 : 1);
