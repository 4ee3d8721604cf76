/** Makes a mirror and a release of one form of package, for the platforms that are asked for. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Archive, writeArchive, writeMirrorIndex, writeReleaseFiles, writeUnpacked } from './mirror.ts';
import { bundledScript, canHave, executablePackage, type Form, scriptPackage } from './packages.ts';
import { type Platform, packageVersion } from './platforms.ts';

export interface PackOptions {
  readonly form: Form;
  readonly platforms: readonly Platform[];
  /** Receives `mirror/`, `release/` and, if asked for, `mirror-unpacked/`; what was there before is removed. */
  readonly directory: string;
  readonly isUnpackedToo?: boolean;
  readonly script?: string;
}

export async function packProvider(options: PackOptions): Promise<Archive[]> {
  const { form, directory, isUnpackedToo = false } = options;
  const version = packageVersion();
  const script = options.script ?? (await bundledScript());
  for (const name of ['mirror', 'release', 'mirror-unpacked']) {
    await rm(join(directory, name), { recursive: true, force: true });
  }
  const archives: Archive[] = [];
  // One after the other: an executable is over a hundred megabytes.
  for (const platform of [...options.platforms].sort()) {
    if (!canHave(form, platform)) continue;
    const files =
      form === 'script' ? scriptPackage(script, version) : await executablePackage(script, version, platform);
    archives.push(await writeArchive(directory, version, { platform, files }));
    if (isUnpackedToo) await writeUnpacked(directory, version, { platform, files });
  }
  if (archives.length === 0) throw new Error(`None of these platforms can have a ${form}.`);
  await writeMirrorIndex(directory, version, archives);
  await writeReleaseFiles(directory, version, archives);
  return archives;
}
