/**
 * A reader of small ISO images, enough to see what a guest would find on a NoCloud disc: the label and the files of the
 * root directory. It is independent of the writer, so that they cannot share a mistake. [ECMA-119]
 */

export interface Disc {
  readonly label: string;
  /** Files of the root directory by the name a Linux guest sees. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const SECTOR_BYTES = 2048;
const FIRST_DESCRIPTOR = 16;
const DESCRIPTORS_LIMIT = 32;
const ROOT_RECORD_OFFSET = 156;

interface Extent {
  readonly block: number;
  readonly lengthBytes: number;
}

interface Tree {
  readonly root: Extent;
  readonly isJoliet: boolean;
}

/** Undefined if the bytes are not an ISO image, or a damaged one. */
export function readDisc(bytes: Uint8Array): Disc | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let label: string | undefined;
  let primary: Tree | undefined;
  let joliet: Tree | undefined;
  for (let index = FIRST_DESCRIPTOR; index < FIRST_DESCRIPTOR + DESCRIPTORS_LIMIT; index++) {
    const at = index * SECTOR_BYTES;
    if (at + SECTOR_BYTES > bytes.length || latin1(bytes, at + 1, 5) !== 'CD001') return undefined;
    const type = bytes[at];
    if (type === 255) break;
    const root = extentAt(view, at + ROOT_RECORD_OFFSET);
    if (type === 1) {
      label = latin1(bytes, at + 40, 32).trimEnd();
      primary = { root, isJoliet: false };
    }
    if (type === 2 && /^%\/[@CE]/.test(latin1(bytes, at + 88, 3))) joliet = { root, isJoliet: true };
  }
  if (label === undefined || !primary) return undefined;
  const plain = readDirectory(bytes, view, primary);
  // Linux prefers Rock Ridge names, then Joliet, and only then the bare ones.
  const chosen = plain?.hasRockRidge || !joliet ? plain : readDirectory(bytes, view, joliet);
  return chosen && { label, files: chosen.files };
}

interface Directory {
  readonly files: Map<string, Uint8Array>;
  readonly hasRockRidge: boolean;
}

function readDirectory(bytes: Uint8Array, view: DataView, { root, isJoliet }: Tree): Directory | undefined {
  const files = new Map<string, Uint8Array>();
  let hasRockRidge = false;
  const end = root.block * SECTOR_BYTES + root.lengthBytes;
  if (end > bytes.length) return undefined;
  for (let at = root.block * SECTOR_BYTES; at < end; ) {
    const lengthBytes = bytes[at] ?? 0;
    if (lengthBytes === 0) {
      // Records do not cross sectors; the rest of this one is empty.
      at = (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES;
      continue;
    }
    if (lengthBytes < 34 || at + lengthBytes > end) return undefined;
    const nameBytes = bytes[at + 32] ?? 0;
    const isDirectory = ((bytes[at + 25] ?? 0) & 2) !== 0;
    const systemUse = at + 33 + nameBytes + (nameBytes % 2 === 0 ? 1 : 0);
    const rockRidge = isJoliet ? undefined : rockRidgeName(bytes, systemUse, at + lengthBytes);
    if (rockRidge !== undefined) hasRockRidge = true;
    if (!isDirectory) {
      const { block, lengthBytes: fileBytes } = extentAt(view, at);
      const start = block * SECTOR_BYTES;
      if (start + fileBytes > bytes.length) return undefined;
      const raw = bytes.subarray(at + 33, at + 33 + nameBytes);
      files.set(rockRidge ?? plainName(raw, isJoliet), bytes.subarray(start, start + fileBytes));
    }
    at += lengthBytes;
  }
  return { files, hasRockRidge };
}

function extentAt(view: DataView, recordAt: number): Extent {
  if (recordAt + 14 > view.byteLength) return { block: 0, lengthBytes: Number.POSITIVE_INFINITY };
  return { block: view.getUint32(recordAt + 2, true), lengthBytes: view.getUint32(recordAt + 10, true) };
}

/** Without its version; a bare name is shown in lower case, as Linux does. */
function plainName(raw: Uint8Array, isJoliet: boolean): string {
  if (isJoliet) return utf16(raw).replace(/;\d+$/, '');
  return Buffer.from(raw).toString('latin1').replace(/;\d+$/, '').replace(/\.$/, '').toLowerCase();
}

function utf16(raw: Uint8Array): string {
  let text = '';
  for (let index = 0; index + 1 < raw.length; index += 2) {
    text += String.fromCharCode(((raw[index] ?? 0) << 8) | (raw[index + 1] ?? 0));
  }
  return text;
}

/** The parts of an alternate name (`NM`) in the system use area. */
function rockRidgeName(bytes: Uint8Array, from: number, end: number): string | undefined {
  let name: string | undefined;
  for (let at = from; at + 4 <= end; ) {
    const lengthBytes = bytes[at + 2] ?? 0;
    if (lengthBytes < 4 || at + lengthBytes > end) break;
    if (latin1(bytes, at, 2) === 'NM') name = `${name ?? ''}${latin1(bytes, at + 5, lengthBytes - 5)}`;
    at += lengthBytes;
  }
  return name;
}

function latin1(bytes: Uint8Array, from: number, lengthBytes: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', from, from + lengthBytes);
}
