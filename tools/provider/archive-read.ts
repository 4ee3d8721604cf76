/** Takes single files out of what registries hand out: wheels (zip), npm packages (tar.gz) and Debian packages (ar with tar.xz). */
import { spawnSync } from 'node:child_process';
import { gunzipSync, inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const DEFLATED = 8;
const TAR_BLOCK_BYTES = 512;
const AR_MAGIC_BYTES = 8;
const AR_HEADER_BYTES = 60;

/** The names in a zip and how to get at each; the last entry of a zip says where the others are. */
export function readZip(archive: Buffer): Map<string, () => Buffer> {
  let end = archive.length - 22;
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  if (end < 0) throw new Error('This is not a zip file.');
  const entries = new Map<string, () => Buffer>();
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    const nameBytes = archive.readUInt16LE(at + 28);
    const [method, sizeBytes, local] = [
      archive.readUInt16LE(at + 10),
      archive.readUInt32LE(at + 20),
      archive.readUInt32LE(at + 42),
    ];
    entries.set(archive.toString('utf8', at + 46, at + 46 + nameBytes), () => {
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      const stored = archive.subarray(start, start + sizeBytes);
      return method === DEFLATED ? inflateRawSync(stored) : stored;
    });
    at += 46 + nameBytes + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return entries;
}

/** By name, without a leading `./`; links and directories are left out. */
export function readTar(archive: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const text = (start: number, length: number) => archive.toString('utf8', start, start + length).replace(/\0.*$/s, '');
  for (let at = 0; at + TAR_BLOCK_BYTES <= archive.length && archive[at] !== 0; ) {
    const sizeBytes = Number.parseInt(text(at + 124, 12), 8);
    const prefix = text(at + 345, 155);
    const name = `${prefix && `${prefix}/`}${text(at, 100)}`.replace(/^\.\//, '');
    const start = at + TAR_BLOCK_BYTES;
    const isFile = archive[at + 156] === 0 || archive[at + 156] === '0'.charCodeAt(0);
    if (isFile) files.set(name, archive.subarray(start, start + sizeBytes));
    at = start + Math.ceil(sizeBytes / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
  }
  return files;
}

export function readNpmPackage(archive: Buffer): Map<string, Buffer> {
  return readTar(gunzipSync(archive));
}

export function readDebianPackage(archive: Buffer): Map<string, Buffer> {
  for (let at = AR_MAGIC_BYTES; at < archive.length; ) {
    const name = archive.toString('latin1', at, at + 16).trim();
    const sizeBytes = Number(archive.toString('latin1', at + 48, at + 58));
    const start = at + AR_HEADER_BYTES;
    if (name.startsWith('data.tar')) return readTar(unxz(archive.subarray(start, start + sizeBytes)));
    at = start + sizeBytes + (sizeBytes % 2);
  }
  throw new Error('This Debian package has no data.');
}

/** Node cannot read xz. */
function unxz(compressed: Buffer): Buffer {
  const { status, stdout, error } = spawnSync('xz', ['-dc'], { input: compressed, maxBuffer: 64 * 1024 ** 2 });
  if (status !== 0) throw new Error('The program xz is needed to unpack a Debian package.', { cause: error });
  return stdout;
}
