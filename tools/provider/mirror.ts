/**
 * Writes packages in the layout that hosts expect. The packed layout serves as a directory on disk and, with the two kinds of
 * JSON files beside the archives, as the root of a static web site too.
 */
import { link, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { byName, type PackageFile, packageHash, sha256 } from './package-files.ts';
import { ADDRESS, archiveName, type Platform, PROTOCOLS, TYPE } from './platforms.ts';
import { writeZip } from './zip-write.ts';

export interface PlatformPackage {
  readonly platform: Platform;
  readonly files: readonly PackageFile[];
}

export interface Archive {
  readonly name: string;
  readonly platform: Platform;
  /** The archive's own, for SHA256SUMS. */
  readonly sha256: string;
  readonly sizeBytes: number;
  /** The contents', for lock files. */
  readonly hash: string;
}

/** Into `release/` and, as the same file, into `mirror/`. */
export async function writeArchive(root: string, version: string, made: PlatformPackage): Promise<Archive> {
  const name = archiveName(version, made.platform);
  const bytes = writeZip(made.files);
  const released = join(root, 'release', name);
  const mirrored = join(root, 'mirror', ADDRESS, name);
  await mkdir(dirname(released), { recursive: true });
  await mkdir(dirname(mirrored), { recursive: true });
  await writeFile(released, bytes);
  await link(released, mirrored);
  return {
    name,
    platform: made.platform,
    sha256: sha256(bytes),
    sizeBytes: bytes.length,
    hash: packageHash(made.files),
  };
}

export async function writeUnpacked(root: string, version: string, made: PlatformPackage): Promise<void> {
  const directory = join(root, 'mirror-unpacked', ADDRESS, version, made.platform);
  for (const { name, bytes, isExecutable } of made.files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes, { mode: isExecutable ? 0o755 : 0o644 });
  }
}

/** What a host asks a mirror on the web for. */
export async function writeMirrorIndex(root: string, version: string, archives: readonly Archive[]): Promise<void> {
  const directory = join(root, 'mirror', ADDRESS);
  const entries = archives.map(({ platform, hash, name }) => [platform, { hashes: [hash], url: name }]);
  await writeFile(join(directory, 'index.json'), json({ versions: { [version]: {} } }));
  await writeFile(join(directory, `${version}.json`), json({ archives: Object.fromEntries(entries) }));
}

/** What a registry wants beside the archives; a signature of the sums is the publisher's to add. */
export async function writeReleaseFiles(root: string, version: string, archives: readonly Archive[]): Promise<void> {
  const prefix = `terraform-provider-${TYPE}_${version}`;
  const manifest = {
    name: `${prefix}_manifest.json`,
    text: json({ version: 1, metadata: { protocol_versions: PROTOCOLS } }),
  };
  const sums = byName([...archives, { name: manifest.name, sha256: sha256(Buffer.from(manifest.text)) }]);
  await writeFile(join(root, 'release', manifest.name), manifest.text);
  await writeFile(
    join(root, 'release', `${prefix}_SHA256SUMS`),
    sums.map(({ name, sha256: sum }) => `${sum}  ${name}\n`).join(''),
  );
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
