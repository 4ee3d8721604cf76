/** The world outside: what a download finds, and what is known to be inside a file, wherever it comes from. */
import type { Checksums, FileContents, GuestProfile, RemoteFile } from './world.ts';
import type { CompleteWorldFile } from './world-file.ts';

type GuestNamed = (name: string, where: string) => GuestProfile;

export function buildDownloads(file: CompleteWorldFile, guestNamed: GuestNamed): Map<string, RemoteFile> {
  return new Map(
    Object.entries(file.downloads).map(([url, download]) => [
      url,
      {
        sizeBytes: download.size,
        virtualSizeBytes: download.virtual_size,
        mimetype: download.mimetype,
        format: download.format,
        compression: download.compression,
        unpackedBytes: download.unpacked_size,
        unpackedChecksums: knownChecksums(download.unpacked_checksums),
        checksums: knownChecksums(download.checksums),
        status: download.status,
        trouble: download.trouble,
        guest: download.guest === undefined ? undefined : guestNamed(download.guest, `downloads.${url}.guest`),
      },
    ]),
  );
}

/** A file that is uploaded instead of downloaded is the same file: its SHA-256 tells. */
export function buildContents(file: CompleteWorldFile, guestNamed: GuestNamed): Map<string, FileContents> {
  const contents = new Map<string, FileContents>();
  for (const [url, download] of Object.entries(file.downloads)) {
    const sum = (download.compression === undefined ? download.checksums : download.unpacked_checksums).sha256;
    if (sum === undefined || download.guest === undefined) continue;
    contents.set(sum, {
      guest: guestNamed(download.guest, `downloads.${url}.guest`),
      virtualSizeBytes: download.virtual_size,
    });
  }
  for (const [sum, entry] of Object.entries(file.contents)) {
    contents.set(sum, {
      guest: entry.guest === undefined ? undefined : guestNamed(entry.guest, `contents.${sum}.guest`),
      virtualSizeBytes: entry.virtual_size,
    });
  }
  return contents;
}

/** Without the algorithms that are only possible. */
export function knownChecksums(sums: Readonly<Record<string, string | undefined>>): Checksums {
  return Object.fromEntries(
    Object.entries(sums).flatMap(([algorithm, sum]) => (sum === undefined ? [] : [[algorithm, sum.toLowerCase()]])),
  );
}
