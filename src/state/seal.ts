/**
 * Checksums of what Proxwright writes and reads back: state, journal lines and plan files. They find damage, not forgery.
 * What older versions wrote has none and is accepted; the strict schemas behind refuse a checksum whose own name is damaged.
 */
import { fingerprint } from '../kinds/fingerprint.ts';

/** Of JSON values; the order of keys and the layout of the text do not matter. */
export function checksumOf(content: unknown): string {
  return fingerprint(content);
}

export interface Sealed {
  /** Without the checksum. */
  readonly content: unknown;
  /** False if there is a checksum that does not fit the content. */
  readonly isSound: boolean;
}

/** A value as it was read, and whether it is the one that was written. */
export function sealed(raw: unknown): Sealed {
  if (typeof raw !== 'object' || raw === null || !('checksum' in raw)) return { content: raw, isSound: true };
  const { checksum, ...content } = raw;
  return { content, isSound: checksum === checksumOf(content) };
}
