/** Reads volumes by the rules of the formats, without the writer's own functions. */
import { Buffer } from 'node:buffer';

const SECTOR = 2048;

export interface ReadVolume {
  readonly label: string;
  readonly sectors: number;
  /** In the order of the directory. */
  readonly files: readonly { readonly name: string; readonly bytes: Buffer; readonly identifier: string }[];
}

interface DirectoryRecord {
  readonly sector: number;
  readonly sizeBytes: number;
  readonly flags: number;
  readonly identifier: Buffer;
  readonly system: Buffer;
}

export function readIso(image: Uint8Array, names: 'rock-ridge' | 'joliet' | 'short'): ReadVolume {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  const type = names === 'joliet' ? 2 : 1;
  const descriptor = descriptorsOf(bytes).find((each) => each[0] === type);
  if (!descriptor) throw new Error(`there is no descriptor of type ${type}`);
  const isJoliet = descriptor.subarray(88, 91).toString('latin1') === '%/E';
  if (isJoliet !== (type === 2)) throw new Error('the escape sequence and the type disagree');
  const root = recordAt(descriptor, 156);
  checkPathTables(bytes, descriptor, root.sector);
  const label = decode(descriptor.subarray(40, 72), isJoliet).trimEnd();
  const [self, parent, ...entries] = recordsOf(bytes, root);
  if (self?.sector !== root.sector || parent?.sector !== root.sector) throw new Error('the root does not name itself');
  if (names === 'rock-ridge' && !self.system.subarray(0, 2).equals(Buffer.from('SP'))) {
    throw new Error('the sharing protocol is not announced');
  }
  const files = entries.map((each) => ({
    name: names === 'rock-ridge' ? alternateNameOf(each.system) : decode(each.identifier, isJoliet),
    identifier: decode(each.identifier, isJoliet),
    bytes: contentOf(bytes, each),
  }));
  return { label, sectors: both32(descriptor, 80), files };
}

function descriptorsOf(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let sector = 16; ; sector++) {
    const descriptor = bytes.subarray(sector * SECTOR, (sector + 1) * SECTOR);
    if (descriptor.subarray(1, 6).toString('latin1') !== 'CD001') throw new Error(`sector ${sector} is no descriptor`);
    if (descriptor[0] === 255) return records;
    records.push(descriptor);
  }
}

function checkPathTables(bytes: Buffer, descriptor: Buffer, root: number): void {
  const little = bytes.subarray(descriptor.readUInt32LE(140) * SECTOR);
  const big = bytes.subarray(descriptor.readUInt32BE(148) * SECTOR);
  const isRight = [little.readUInt32LE(2), big.readUInt32BE(2)].every((sector) => sector === root);
  if (!isRight || both32(descriptor, 132) !== 10) throw new Error('a path table does not lead to the root');
}

function recordsOf(bytes: Buffer, directory: DirectoryRecord): DirectoryRecord[] {
  const records: DirectoryRecord[] = [];
  const end = directory.sector * SECTOR + directory.sizeBytes;
  for (let offset = directory.sector * SECTOR; offset < end; ) {
    const length = bytes.readUInt8(offset);
    if (length === 0) {
      offset = (Math.floor(offset / SECTOR) + 1) * SECTOR;
      continue;
    }
    if (Math.floor(offset / SECTOR) !== Math.floor((offset + length - 1) / SECTOR)) throw new Error('a record is cut');
    records.push(recordAt(bytes, offset));
    offset += length;
  }
  return records;
}

function recordAt(bytes: Buffer, offset: number): DirectoryRecord {
  const record = bytes.subarray(offset, offset + bytes.readUInt8(offset));
  const identifierLength = record.readUInt8(32);
  const identifierEnd = 33 + identifierLength;
  return {
    sector: both32(record, 2),
    sizeBytes: both32(record, 10),
    flags: record.readUInt8(25),
    identifier: record.subarray(33, identifierEnd),
    system: record.subarray(identifierEnd + (identifierEnd % 2)),
  };
}

function alternateNameOf(system: Buffer): string {
  for (let offset = 0; offset + 4 <= system.length && system.readUInt8(offset + 2) > 0; ) {
    const length = system.readUInt8(offset + 2);
    if (system.subarray(offset, offset + 2).toString('latin1') === 'NM') {
      return system.subarray(offset + 5, offset + length).toString('latin1');
    }
    offset += length;
  }
  throw new Error('a file has no alternate name');
}

function contentOf(bytes: Buffer, { sector, sizeBytes, flags }: DirectoryRecord): Buffer {
  if (flags !== 0) throw new Error('a file is marked as something else');
  const begin = sector * SECTOR;
  if (begin + sizeBytes > bytes.length) throw new Error('a file lies outside the volume');
  return bytes.subarray(begin, begin + sizeBytes);
}

/** Both byte orders must say the same. */
function both32(bytes: Buffer, offset: number): number {
  const value = bytes.readUInt32LE(offset);
  if (bytes.readUInt32BE(offset + 4) !== value) throw new Error('the two byte orders disagree');
  return value;
}

function decode(bytes: Buffer, isJoliet: boolean): string {
  return isJoliet ? Buffer.from(bytes).swap16().toString('utf16le') : bytes.toString('latin1');
}
