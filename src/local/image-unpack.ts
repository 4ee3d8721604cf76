/**
 * Unpacks a stream: gz with Node, xz with a small WebAssembly build of xz-embedded, zst with Node if it can and otherwise
 * with the zstd program, bz2 and lzo with their programs. docs/decisions/016-unpacking-images.md says why.
 */
import { spawn } from 'node:child_process';
import { pipeline, Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { ProxwrightError } from '../base/errors.ts';
import type { Compression } from '../kinds/image/file.ts';

type Chunks = AsyncIterable<Uint8Array>;

const PROGRAMS = { zst: 'zstd', bz2: 'bzip2', lzo: 'lzop' } as const;

export interface UnpackOptions {
  /** For messages: a path or a URL. */
  readonly name: string;
  /** Replacements for the programs on the PATH. */
  readonly programs?: Partial<Readonly<Record<keyof typeof PROGRAMS, string>>>;
}

/** Errors while reading `packed` are rethrown unchanged. */
export async function* unpacked(compression: Compression, packed: Chunks, options: UnpackOptions): Chunks {
  try {
    yield* unpackerOf(compression, options)(packed);
  } catch (error) {
    throw error instanceof ProxwrightError ? error : damaged(compression, options.name, error);
  }
}

function unpackerOf(compression: Compression, options: UnpackOptions): (packed: Chunks) => Chunks {
  switch (compression) {
    case 'gz':
      return through(() => zlib.createGunzip());
    case 'xz':
      return (packed) => xzChunks(packed);
    case 'zst':
      return zstdOfNode ? through(zstdOfNode) : byProgram(compression, options);
    case 'bz2':
    case 'lzo':
      return byProgram(compression, options);
  }
}

/** Since Node 22.15; the types are those of the oldest supported Node. */
const zstdOfNode = (zlib as { readonly createZstdDecompress?: () => Transform }).createZstdDecompress;

function through(create: () => Transform): (packed: Chunks) => Chunks {
  return (packed) => {
    const unpacker = create();
    // An error at either end destroys the unpacker with that error, and its reader receives it.
    pipeline(Readable.from(packed), unpacker, () => {});
    return unpacker;
  };
}

async function* xzChunks(packed: Chunks): Chunks {
  // Most runs never need it.
  const { default: xz } = await import('xz-decompress');
  const stream = new xz.XzReadableStream(Readable.toWeb(Readable.from(packed)) as ReadableStream<Uint8Array>); // Node's own type of the same thing
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // The rest is not needed.
    void reader.cancel().catch(() => {});
  }
}

function byProgram(compression: keyof typeof PROGRAMS, options: UnpackOptions): (packed: Chunks) => Chunks {
  const program = options.programs?.[compression] ?? PROGRAMS[compression];
  return async function* run(packed) {
    const child = spawn(program, ['-dc'], { stdio: 'pipe' });
    let notRun: unknown;
    const ended = new Promise<number | null>((resolve) => {
      child.once('close', resolve);
      child.once('error', (error) => {
        notRun = error;
        resolve(null);
      });
    });
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk.toString('utf8')}`.slice(0, 500);
    });
    // A failing source ends the input of the program early; the error of the program must not hide the cause.
    let atSource: unknown;
    pipeline(
      watched(packed, (error) => (atSource = error)),
      child.stdin,
      () => {},
    );
    try {
      yield* child.stdout as Chunks;
      const code = await ended;
      if (notRun !== undefined) throw missing(compression, program, options.name, notRun);
      if (atSource !== undefined) throw atSource;
      if (code !== 0) throw new Error(complaint.trim() || `${program} ended with ${String(code)}`);
    } finally {
      child.kill();
    }
  };
}

async function* watched(packed: Chunks, onError: (error: unknown) => void): Chunks {
  try {
    yield* packed;
  } catch (error) {
    onError(error);
    throw error;
  }
}

function missing(compression: Compression, program: string, name: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'UNPACK_FAILED',
    detail: `${name} is compressed as .${compression}, but the program "${program}" cannot be run on this machine: ${String(cause instanceof Error ? cause.message : cause)}.`,
    hint: `Install ${program} on this machine, or unpack the file yourself and use its path.`,
    cause,
  });
}

function damaged(compression: Compression, name: string, cause: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'UNPACK_FAILED',
    detail: `${name} cannot be unpacked as .${compression}: "${String(cause instanceof Error ? cause.message : cause)}". Nothing was uploaded.`,
    hint: 'The file is damaged, or its compression does not match its name. Try to unpack it yourself, or set compression.',
    cause,
  });
}
