/**
 * Writes zip files whose bytes depend on nothing but their contents: sorted entries, one fixed time, Unix modes. The modes
 * matter: a host that unpacks a program without its execute bit cannot start it, and many writers of zips leave them out.
 */
import { crc32, deflateRawSync } from 'node:zlib';
import { byName, type PackageFile } from './package-files.ts';

/** Midnight of 1 January 1980, the first moment a zip can name. */
const TIME = 0;
const DATE = (1 << 5) | 1;
const NEEDS_VERSION = 20;
/** The upper byte says Unix, which gives the upper half of the attributes their meaning. */
const MADE_BY_UNIX = (3 << 8) | NEEDS_VERSION;
const NAMES_ARE_UTF8 = 1 << 11;
const DEFLATED = 8;
const REGULAR_FILE = 0o100000;
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
const LEVEL = 6;

interface Entry {
  readonly file: PackageFile;
  readonly name: Buffer;
  readonly compressed: Buffer;
  readonly checksum: number;
}

export function writeZip(files: readonly PackageFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const file of byName(files)) {
    const entry: Entry = {
      file,
      name: Buffer.from(file.name),
      compressed: deflateRawSync(file.bytes, { level: LEVEL }),
      checksum: crc32(file.bytes),
    };
    const local = localHeader(entry);
    directory.push(centralHeader(entry, offset));
    parts.push(local, entry.compressed);
    offset += local.length + entry.compressed.length;
  }
  const central = Buffer.concat(directory);
  return Buffer.concat([...parts, central, endOfDirectory(files.length, central.length, offset)]);
}

function localHeader(entry: Entry): Buffer {
  const header = Buffer.alloc(LOCAL_BYTES);
  header.writeUInt32LE(0x04034b50, 0);
  writeShared(header, 4, entry);
  return Buffer.concat([header, entry.name]);
}

function centralHeader(entry: Entry, offset: number): Buffer {
  const header = Buffer.alloc(CENTRAL_BYTES);
  header.writeUInt32LE(0x02014b50, 0);
  header.writeUInt16LE(MADE_BY_UNIX, 4);
  writeShared(header, 6, entry);
  const mode = REGULAR_FILE | (entry.file.isExecutable ? 0o755 : 0o644);
  header.writeUInt32LE((mode << 16) >>> 0, 38);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, entry.name]);
}

/** The part that both headers of an entry have. */
function writeShared(header: Buffer, at: number, { file, name, compressed, checksum }: Entry): void {
  header.writeUInt16LE(NEEDS_VERSION, at);
  header.writeUInt16LE(NAMES_ARE_UTF8, at + 2);
  header.writeUInt16LE(DEFLATED, at + 4);
  header.writeUInt16LE(TIME, at + 6);
  header.writeUInt16LE(DATE, at + 8);
  header.writeUInt32LE(checksum, at + 10);
  header.writeUInt32LE(compressed.length, at + 14);
  header.writeUInt32LE(file.bytes.length, at + 18);
  header.writeUInt16LE(name.length, at + 22);
}

function endOfDirectory(count: number, sizeBytes: number, offset: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(sizeBytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
