/**
 * The door to bytes that we send: a local file, a download of our own, something made in memory. Preparing comes first,
 * because the length and the checksum of an upload stand in front of its bytes.
 */
import type { StreamBody } from './transport.ts';

export interface PrepareOptions {
  readonly signal?: AbortSignal | undefined;
  /** For people: `download`, `unpack`, `checksum`, and how far it is. */
  readonly onProgress?: ((what: string, fraction?: number) => void) | undefined;
}

/** Whole, checked against what was declared, and unpacked. */
export interface ReadyImage extends StreamBody {
  /** Of the bytes as they will be sent. */
  readonly sha256: string;
}

export interface ImageSource {
  prepare(options: PrepareOptions): Promise<ReadyImage>;
}
