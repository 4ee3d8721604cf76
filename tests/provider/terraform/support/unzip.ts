/** All files of an archive, as one text: a saved plan is one. */
import { inflateRawSync } from 'node:zlib';

const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_END = 0x06054b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const HEAD_BYTES = 30;
const DEFLATED = 8;

export function unzipped(archive: Buffer): string {
  let end = archive.length - END_BYTES;
  while (end > 0 && archive.readUInt32LE(end) !== DIRECTORY_END) end--;
  const texts: string[] = [];
  let at = archive.readUInt32LE(end + 16);
  while (archive.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const [nameBytes, extraBytes, noteBytes] = [28, 30, 32].map((place) => archive.readUInt16LE(at + place));
    const head = archive.readUInt32LE(at + 42);
    const start = head + HEAD_BYTES + archive.readUInt16LE(head + 26) + archive.readUInt16LE(head + 28);
    const content = archive.subarray(start, start + archive.readUInt32LE(at + 20));
    texts.push((archive.readUInt16LE(at + 10) === DEFLATED ? inflateRawSync(content) : content).toString('latin1'));
    at += ENTRY_BYTES + (nameBytes ?? 0) + (extraBytes ?? 0) + (noteBytes ?? 0);
  }
  return texts.join('\n');
}
