/** Prepares a local file for upload: reads it in chunks, computes checksums, and unpacks it if it is compressed. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { throwIfCanceled } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { PrepareOptions, ReadyImage } from '../base/image-source.ts';
import type { Compression } from '../kinds/image/file.ts';
import type { DeclaredSums } from '../kinds/image/steps.ts';
import { type UnpackOptions, unpacked } from './image-unpack.ts';
import { reasonOf } from './text-file.ts';

export interface LocalImage extends DeclaredSums {
  readonly path: string;
  /** For messages: the path, or the URL it came from. */
  readonly name: string;
  readonly compression?: Compression | undefined;
}

export interface ReadingOptions extends PrepareOptions {
  /** Where the unpacked bytes go; an existing file is overwritten. */
  readonly unpackTo: string;
  readonly programs?: UnpackOptions['programs'];
}

const PIECE_BYTES = 256 * 1024;
/** Larger than any real image: more is a mistake or an attack. */
const MAX_UNPACKED_BYTES = 256 * 1024 ** 3;

export async function readyImage(image: LocalImage, options: ReadingOptions): Promise<ReadyImage> {
  const { size } = await fileFacts(image.path);
  return image.compression === undefined
    ? asItIs(image, size, options)
    : unpackedImage(image, image.compression, size, options);
}

async function asItIs(image: LocalImage, sizeBytes: number, options: ReadingOptions): Promise<ReadyImage> {
  const sums = new Sums(image);
  for await (const chunk of counted(pieces(image.path), sizeBytes, 'checksum', options)) sums.add(chunk);
  sums.compare(image);
  return { sizeBytes, sha256: sums.sum('sha256'), open: () => pieces(image.path) };
}

async function unpackedImage(
  image: LocalImage,
  compression: Compression,
  packedBytes: number,
  options: ReadingOptions,
): Promise<ReadyImage> {
  const { unpackTo: path } = options;
  const [before, after] = [new Sums(image), new Sums()];
  const source = counted(pieces(image.path), packedBytes, 'unpack', options);
  const packed = through(source, before);
  const content = through(unpacked(compression, packed, { name: image.name, programs: options.programs ?? {} }), after);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await pipeline(Readable.from(limited(content, image.name)), createWriteStream(path, { mode: 0o600 }));
    before.compare(image);
  } catch (error) {
    await rm(path, { force: true });
    throw error instanceof ProxwrightError ? error : unwritable(path, error);
  }
  return { sizeBytes: after.sizeBytes, sha256: after.sum('sha256'), open: () => pieces(path) };
}

/** Computes checksums of a stream: SHA-256, which the upload states, and any other declared one. */
class Sums {
  sizeBytes = 0;
  readonly #hashes: ReadonlyMap<string, Hash>;

  constructor(declared: DeclaredSums = {}) {
    const algorithms = ['sha256', ...(declared.sha512 === undefined ? [] : ['sha512'])];
    this.#hashes = new Map(algorithms.map((algorithm) => [algorithm, createHash(algorithm)]));
  }

  add(chunk: Uint8Array): void {
    this.sizeBytes += chunk.byteLength;
    for (const hash of this.#hashes.values()) hash.update(chunk);
  }

  sum(algorithm: 'sha256' | 'sha512'): string {
    return this.#hashes.get(algorithm)?.copy().digest('hex') ?? '';
  }

  compare(image: LocalImage): void {
    for (const algorithm of ['sha256', 'sha512'] as const) {
      const declared = image[algorithm]?.toLowerCase();
      const found = this.sum(algorithm);
      if (declared !== undefined && declared !== found) throw mismatch(image, algorithm, declared, found);
    }
  }
}

async function* through(chunks: AsyncIterable<Uint8Array>, sums: Sums): AsyncIterable<Uint8Array> {
  for await (const chunk of chunks) {
    sums.add(chunk);
    yield chunk;
  }
}

async function* limited(chunks: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array> {
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > MAX_UNPACKED_BYTES) {
      throw new ProxwrightError({
        code: 'UNPACK_FAILED',
        detail: `${name} unpacks to more than ${MAX_UNPACKED_BYTES} bytes.`,
        hint: 'Check that it is the right file.',
      });
    }
    yield chunk;
  }
}

/** Reports progress once per percent, and stops when the signal fires. */
async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  totalBytes: number,
  what: string,
  { signal, onProgress }: PrepareOptions,
): AsyncIterable<Uint8Array> {
  let [readBytes, reported] = [0, -1];
  for await (const chunk of chunks) {
    throwIfCanceled(signal);
    readBytes += chunk.byteLength;
    const percent = Math.floor((readBytes / Math.max(1, totalBytes)) * 100);
    if (percent !== reported) onProgress?.(what, percent / 100);
    reported = percent;
    yield chunk;
  }
}

async function* pieces(path: string): AsyncIterable<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Uint8Array>; // no encoding: bytes
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function fileFacts(path: string): Promise<{ readonly size: number }> {
  try {
    const facts = await stat(path);
    if (facts.isFile()) return facts;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw unreadable(path, 'it is not a file');
}

function unreadable(path: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'UNREADABLE_FILE',
    detail: `${path} cannot be read: ${reasonOf(cause)}.`,
    hint: 'Check the path; it is relative to the directory of the stack file.',
    ...(cause instanceof Error && { cause }),
  });
}

function unwritable(path: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'UNWRITABLE_FILE',
    detail: `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}.`,
    hint: 'Proxwright unpacks images on this machine before it uploads them. Free space for the whole image.',
    cause,
  });
}

function mismatch(image: LocalImage, algorithm: string, declared: string, found: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CHECKSUM_MISMATCH',
    detail: `The ${algorithm} of ${image.name} is ${found}, but the stack declares ${declared}. Nothing was uploaded.`,
    hint: 'Compare it with the list of checksums next to the image. Declare the checksum of the file before unpacking.',
  });
}
