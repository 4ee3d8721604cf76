/** The one directory of a volume, in its two forms: short capitals with Rock Ridge entries, and Joliet. */
import { Buffer } from 'node:buffer';

export interface PlacedFile {
  readonly name: string;
  readonly sizeBytes: number;
  /** First sector of its content. */
  readonly sector: number;
}

/** A directory as it is written: first sector, length and date. */
export interface DirectoryPlace {
  readonly sector: number;
  readonly sizeBytes: number;
  readonly at: Date;
}

const SELF = Buffer.from([0]);
const PARENT = Buffer.from([1]);
const IS_DIRECTORY = 2;
const FOLDER_MODE = 0o040555;
const FILE_MODE = 0o100444;

interface RecordParts {
  readonly identifier: Buffer;
  readonly sector: number;
  readonly sizeBytes: number;
  readonly at: Date;
  readonly flags: number;
  /** Rock Ridge. */
  readonly system?: Buffer;
}

/** The record of the root directory, as the descriptor of the volume has it. */
export function rootRecord(place: DirectoryPlace): Buffer {
  return record({ identifier: SELF, ...place, flags: IS_DIRECTORY });
}

export function rockRidgeDirectory(files: readonly PlacedFile[], place: DirectoryPlace): Buffer {
  const named = withShortNames(files).sort((left, right) => compareBytes(left.identifier, right.identifier));
  return inSectors([
    record({
      identifier: SELF,
      ...place,
      flags: IS_DIRECTORY,
      system: Buffer.concat([sharingProtocol(), posix(FOLDER_MODE, 2), extensionReference()]),
    }),
    record({ identifier: PARENT, ...place, flags: IS_DIRECTORY, system: posix(FOLDER_MODE, 2) }),
    ...named.map(({ file, identifier }) =>
      record({
        identifier,
        sector: file.sector,
        sizeBytes: file.sizeBytes,
        at: place.at,
        flags: 0,
        system: Buffer.concat([posix(FILE_MODE, 1), alternateName(file.name)]),
      }),
    ),
  ]);
}

export function jolietDirectory(files: readonly PlacedFile[], place: DirectoryPlace): Buffer {
  const named = files
    .map((file) => ({ file, identifier: ucs2(file.name) }))
    .sort((left, right) => compareBytes(left.identifier, right.identifier));
  return inSectors([
    record({ identifier: SELF, ...place, flags: IS_DIRECTORY }),
    record({ identifier: PARENT, ...place, flags: IS_DIRECTORY }),
    ...named.map(({ file: { sector, sizeBytes }, identifier }) =>
      record({ identifier, sector, sizeBytes, at: place.at, flags: 0 }),
    ),
  ]);
}

function record({ identifier, sector, sizeBytes, at, flags, system = Buffer.alloc(0) }: RecordParts): Buffer {
  const head = Buffer.concat([
    both32(sector),
    both32(sizeBytes),
    shortDate(at),
    Buffer.from([flags, 0, 0]),
    both16(1),
    Buffer.from([identifier.length]),
    identifier,
    // What follows begins on an even byte.
    Buffer.alloc((identifier.length + 1) % 2),
    system,
  ]);
  const padding = head.length % 2;
  return Buffer.concat([Buffer.from([head.length + 2 + padding, 0]), head, Buffer.alloc(padding)]);
}

/** No record crosses the end of a sector. */
function inSectors(records: readonly Buffer[]): Buffer {
  const sectors: Buffer[][] = [[]];
  let freeBytes = SECTOR_BYTES;
  for (const each of records) {
    if (each.length > freeBytes) {
      sectors.push([]);
      freeBytes = SECTOR_BYTES;
    }
    sectors.at(-1)?.push(each);
    freeBytes -= each.length;
  }
  return Buffer.concat(sectors.map((each) => Buffer.concat(each, SECTOR_BYTES)));
}

/** Eight capitals, a dot, three more: for a reader that knows neither extension. */
function withShortNames(files: readonly PlacedFile[]): { readonly file: PlacedFile; readonly identifier: Buffer }[] {
  const taken = new Set<string>();
  const reduced = (text: string, length: number) =>
    text
      .toUpperCase()
      .replace(/[^A-Z0-9]/g, '_')
      .slice(0, length);
  return files.map((file) => {
    const dot = file.name.lastIndexOf('.');
    const [stem, extension] = dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot + 1)] : [file.name, ''];
    const ending = `.${reduced(extension, 3)};1`;
    let short = reduced(stem, 8);
    for (let number = 1; taken.has(short + ending); number++) {
      short = reduced(stem, 8 - String(number).length) + number;
    }
    taken.add(short + ending);
    return { file, identifier: Buffer.from(short + ending, 'latin1') };
  });
}

function compareBytes(left: Buffer, right: Buffer): number {
  return Buffer.compare(left, right);
}

/** An entry of the System Use Sharing Protocol: two letters, its length, its version. */
function entry(signature: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(signature, 'latin1'), Buffer.from([content.length + 4, 1]), content]);
}

function sharingProtocol(): Buffer {
  return entry('SP', Buffer.from([0xbe, 0xef, 0]));
}

/** Mode, links, owner and group of a file: root's, to be read only. */
function posix(mode: number, links: number): Buffer {
  return entry('PX', Buffer.concat([both32(mode), both32(links), both32(0), both32(0)]));
}

function alternateName(name: string): Buffer {
  return entry('NM', Buffer.concat([Buffer.from([0]), Buffer.from(name, 'latin1')]));
}

/** Names the extension. Its words are short enough to need no continuation area. */
function extensionReference(): Buffer {
  const identifier = 'RRIP_1991A';
  const description = 'THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS';
  const source = 'IEEE P1282';
  const lengths = Buffer.from([identifier.length, description.length, source.length, 1]);
  return entry('ER', Buffer.concat([lengths, Buffer.from(identifier + description + source, 'latin1')]));
}

export const SECTOR_BYTES = 2048;

/** Many numbers are written twice, in both byte orders. */
export function both16(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16LE(value, 0);
  bytes.writeUInt16BE(value, 2);
  return bytes;
}

export function both32(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(value, 0);
  bytes.writeUInt32BE(value, 4);
  return bytes;
}

/** In a directory: seven numbers, the last of which is the time zone. */
function shortDate(at: Date): Buffer {
  return Buffer.from([
    at.getUTCFullYear() - 1900,
    at.getUTCMonth() + 1,
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
    0,
  ]);
}

/** In a volume descriptor: digits, then the time zone. */
export function longDate(at: Date): Buffer {
  const digits = at.toISOString().replace(/\D/g, '').slice(0, 16);
  return Buffer.concat([Buffer.from(digits, 'latin1'), Buffer.alloc(1)]);
}

/** A date that is not set. */
export const NO_DATE = Buffer.concat([Buffer.from('0'.repeat(16), 'latin1'), Buffer.alloc(1)]);

/** UCS-2, big-endian; Node has only little-endian. */
export function ucs2(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16();
}

export function paddedToSectors(bytes: Uint8Array): Buffer {
  const padded = Buffer.alloc(sectorsOf(bytes.length) * SECTOR_BYTES);
  padded.set(bytes);
  return padded;
}

export function sectorsOf(sizeBytes: number): number {
  return Math.ceil(sizeBytes / SECTOR_BYTES);
}
