/** The fields that ISO 9660 is made of: numbers in both byte orders, dates, names in capitals and names in UCS-2. */
import { Buffer } from 'node:buffer';

export const SECTOR_BYTES = 2048;

/** Many fields stand there twice, for processors of either kind. */
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
export function shortDate(at: Date): Buffer {
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

/** A date nobody set. */
export const NO_DATE = Buffer.concat([Buffer.from('0'.repeat(16), 'latin1'), Buffer.alloc(1)]);

/** UCS-2 with the high byte first, which Node knows only the other way round. */
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
