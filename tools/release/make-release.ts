/** Makes everything that a release consists of, in one directory. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleCommand, bundledPackages, bundleLibrary } from '../bundle/bundle.ts';
import { writeDeclarations } from '../bundle/declarations.ts';
import { thirdPartyNotices } from '../bundle/third-parties.ts';
import { packProvider } from '../provider/pack-provider.ts';
import { sha256 } from '../provider/package-files.ts';
import { type Platform, packageVersion } from '../provider/platforms.ts';
import { writeZip } from '../provider/zip-write.ts';
import { commandArchive, commandPackage } from './command-package.ts';
import { stageNpmPackage } from './npm-package.ts';
import { sbom } from './sbom.ts';

export interface ReleaseOptions {
  /** What was there before is removed. */
  readonly directory: string;
  readonly platforms: readonly Platform[];
  /** The provider's packages too. */
  readonly hasProvider: boolean;
  readonly say: (text: string) => void;
}

export interface Release {
  readonly files: readonly string[];
  /** Why a platform is missing: its Node could not be fetched. */
  readonly missing: readonly { readonly platform: Platform; readonly reason: string }[];
}

export async function makeRelease({ directory, platforms, hasProvider, say }: ReleaseOptions): Promise<Release> {
  await rm(directory, { recursive: true, force: true });
  const work = join(directory, 'work');
  await mkdir(work, { recursive: true });
  const version = packageVersion();
  const missing: { platform: Platform; reason: string }[] = [];
  try {
    say('npm package');
    const folders = await packNpm(join(work, 'npm'), directory);
    const dist = join(work, 'dist');
    const inside = bundledPackages([await bundleCommand(join(dist, 'cli'), true)]);
    await writeFile(join(dist, 'THIRD-PARTIES.txt'), await thirdPartyNotices(inside));
    for (const platform of platforms) {
      say(`command for ${platform}`);
      try {
        await writeFile(
          join(directory, commandArchive(version, platform)),
          writeZip(await commandPackage(platform, dist)),
        );
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        say(`  not made: ${reason}`);
        missing.push({ platform, reason });
      }
    }
    const made = platforms.filter((platform) => !missing.some((each) => each.platform === platform));
    if (hasProvider && made.length > 0) {
      say('provider');
      await packProvider({ form: 'executable', platforms: made, directory: join(work, 'provider') });
      const packed = join(work, 'provider', 'release');
      for (const name of await readdir(packed)) await cp(join(packed, name), join(directory, name));
    }
    await writeFile(join(directory, `proxwright_${version}.cdx.json`), await sbom([...folders, ...inside]));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return { files: await writeSums(directory), missing };
}

/** Packs a copy of the tree with a build of its own; returns the folders of the bundled packages. */
async function packNpm(staging: string, destination: string): Promise<string[]> {
  await stageNpmPackage(staging);
  const dist = join(staging, 'dist');
  const metafiles = await Promise.all([bundleCommand(join(dist, 'cli')), bundleLibrary(dist), writeDeclarations(dist)]);
  const folders = bundledPackages([metafiles[0], metafiles[1]]);
  await writeFile(join(dist, 'THIRD-PARTIES.txt'), await thirdPartyNotices(folders));
  const [npm, ...args] = process.platform === 'win32' ? ['cmd', '/c', 'npm'] : ['npm'];
  const options = ['pack', '--ignore-scripts', '--pack-destination', destination];
  await promisify(execFile)(npm ?? '', [...args, ...options], { cwd: staging });
  return folders;
}

async function writeSums(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).sort();
  const lines = await Promise.all(
    names.map(async (name) => `${sha256(await readFile(join(directory, name)))}  ${name}\n`),
  );
  await writeFile(join(directory, 'SHA256SUMS'), lines.join(''));
  return [...names, 'SHA256SUMS'];
}
