/**
 * A small ISO 9660 volume in memory: one directory, with the names as given both by Rock Ridge and by Joliet, so that
 * every guest kernel sees them in lower case. The same files give the same bytes.
 */
import { Buffer } from 'node:buffer';
import { invariant } from '../../../base/errors.ts';
import {
  both16,
  both32,
  type DirectoryPlace,
  jolietDirectory,
  longDate,
  NO_DATE,
  type PlacedFile,
  paddedToSectors,
  rockRidgeDirectory,
  rootRecord,
  SECTOR_BYTES,
  sectorsOf,
  ucs2,
} from './iso-directory.ts';

export interface IsoFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface IsoVolume {
  readonly label: string;
  readonly files: readonly IsoFile[];
  /** Every date in the volume; fixed, so that the bytes do not differ each time. */
  readonly at: Date;
}

/** Joliet allows this many characters; Rock Ridge has to fit into one record. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;
/** Joliet has room for half as many as the other descriptor. */
const LABEL = /^[A-Za-z0-9_-]{1,16}$/;

/** Reserved for boot loaders. */
const SYSTEM_AREA_SECTORS = 16;
const PRIMARY = SYSTEM_AREA_SECTORS;
const FIRST_PATH_TABLE = PRIMARY + 3;
const FIRST_DIRECTORY = FIRST_PATH_TABLE + 4;
const PATH_TABLE_BYTES = 10;

export function writeIso({ label, files, at }: IsoVolume): Uint8Array {
  invariant(LABEL.test(label), `${JSON.stringify(label)} cannot be the label of a volume.`);
  for (const { name } of files) invariant(NAME.test(name), `${JSON.stringify(name)} cannot be a name on a volume.`);
  invariant(new Set(files.map(({ name }) => name)).size === files.length, 'Names on a volume are unique.');

  // Positions do not change the length of a directory, so its length can be computed first.
  const unplaced = files.map(({ name, bytes }) => ({ name, sizeBytes: bytes.length, sector: 0 }));
  const nowhere = { sector: 0, sizeBytes: 0, at };
  const rockRidge: DirectoryPlace = {
    sector: FIRST_DIRECTORY,
    sizeBytes: rockRidgeDirectory(unplaced, nowhere).length,
    at,
  };
  const joliet: DirectoryPlace = {
    sector: rockRidge.sector + sectorsOf(rockRidge.sizeBytes),
    sizeBytes: jolietDirectory(unplaced, nowhere).length,
    at,
  };
  const { placed, end } = place(unplaced, joliet.sector + sectorsOf(joliet.sizeBytes));

  const volume = { label, sectors: end, at };
  return Buffer.concat([
    Buffer.alloc(SYSTEM_AREA_SECTORS * SECTOR_BYTES),
    descriptor({ ...volume, kind: 'primary', root: rockRidge, pathTable: FIRST_PATH_TABLE }),
    descriptor({ ...volume, kind: 'joliet', root: joliet, pathTable: FIRST_PATH_TABLE + 2 }),
    paddedToSectors(Buffer.concat([Buffer.from([255]), Buffer.from('CD001', 'latin1'), Buffer.from([1])])),
    ...pathTables(rockRidge.sector),
    ...pathTables(joliet.sector),
    rockRidgeDirectory(placed, rockRidge),
    jolietDirectory(placed, joliet),
    ...files.map(({ bytes }) => (bytes.length === 0 ? Buffer.alloc(SECTOR_BYTES) : paddedToSectors(bytes))),
  ]);
}

/** An empty file has a sector too, because some readers check the position of every file. */
function place(files: readonly PlacedFile[], first: number): { readonly placed: PlacedFile[]; readonly end: number } {
  let sector = first;
  const placed = files.map((file) => {
    const here = { ...file, sector };
    sector += Math.max(1, sectorsOf(file.sizeBytes));
    return here;
  });
  return { placed, end: sector };
}

/** The directories of the volume, of which there is one, for either byte order. */
function pathTables(root: number): Buffer[] {
  const little = Buffer.alloc(PATH_TABLE_BYTES);
  little.writeUInt8(1, 0);
  little.writeUInt32LE(root, 2);
  little.writeUInt16LE(1, 6);
  const big = Buffer.alloc(PATH_TABLE_BYTES);
  big.writeUInt8(1, 0);
  big.writeUInt32BE(root, 2);
  big.writeUInt16BE(1, 6);
  return [paddedToSectors(little), paddedToSectors(big)];
}

interface DescriptorParts {
  readonly kind: 'primary' | 'joliet';
  readonly label: string;
  readonly sectors: number;
  readonly at: Date;
  readonly root: DirectoryPlace;
  /** Sector of the table with the low byte first; the other one follows it. */
  readonly pathTable: number;
}

function descriptor({ kind, label, sectors, at, root, pathTable }: DescriptorParts): Buffer {
  const isJoliet = kind === 'joliet';
  const text = (value: string, lengthBytes: number) =>
    isJoliet ? paddedUcs2(value, lengthBytes) : Buffer.from(value.padEnd(lengthBytes), 'latin1');
  const littleTable = Buffer.alloc(8);
  littleTable.writeUInt32LE(pathTable, 0);
  const bigTable = Buffer.alloc(8);
  bigTable.writeUInt32BE(pathTable + 1, 0);
  return paddedToSectors(
    Buffer.concat([
      Buffer.from([isJoliet ? 2 : 1]),
      Buffer.from('CD001', 'latin1'),
      Buffer.from([1, 0]),
      text('', 32),
      text(label, 32),
      Buffer.alloc(8),
      both32(sectors),
      // UCS-2 level 3, which is what makes it Joliet.
      Buffer.concat([Buffer.from(isJoliet ? '%/E' : '', 'latin1')], 32),
      both16(1),
      both16(1),
      both16(SECTOR_BYTES),
      both32(PATH_TABLE_BYTES),
      littleTable,
      bigTable,
      rootRecord(root),
      text('', 128),
      text('', 128),
      text('', 128),
      text('PROXWRIGHT', 128),
      text('', 37),
      text('', 37),
      text('', 37),
      longDate(at),
      longDate(at),
      NO_DATE,
      NO_DATE,
      Buffer.from([1, 0]),
    ]),
  );
}

function paddedUcs2(value: string, lengthBytes: number): Buffer {
  const padded = ucs2(value.padEnd(Math.floor(lengthBytes / 2)));
  return Buffer.concat([padded], lengthBytes);
}
