/**
 * The source of an image to upload: a local file, a download to this machine, or bytes in memory. It is prepared first,
 * because an upload states the length and the checksum before the bytes.
 */
import type { StreamBody } from './transport.ts';

export interface PrepareOptions {
  readonly signal?: AbortSignal | undefined;
  /** For messages: `download`, `unpack` or `checksum`, and its progress. */
  readonly onProgress?: ((what: string, fraction?: number) => void) | undefined;
}

/** Complete, verified against the declared checksum, and unpacked. */
export interface ReadyImage extends StreamBody {
  /** Of the bytes as they are uploaded. */
  readonly sha256: string;
}

export interface ImageSource {
  prepare(options: PrepareOptions): Promise<ReadyImage>;
}
