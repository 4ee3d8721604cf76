/**
 * The real sources of images: local files, and downloads to this machine. All steps that need the same image share one
 * preparation. Unpacked files are removed at the end of the run; downloads stay until the cache is too large.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, unlink } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { type Clock, orCanceled } from '../base/clock.ts';
import { isFamily } from '../base/errors.ts';
import type { ImageSource, PrepareOptions, ReadyImage } from '../base/image-source.ts';
import { declaredChecksum, type ImageOrigin } from '../kinds/image/steps.ts';
import { discardDownload, downloaded } from './image-download.ts';
import { type LocalImage, readyImage } from './image-file.ts';
import type { UnpackOptions } from './image-unpack.ts';

export interface ImageSourcesOptions {
  readonly clock: Clock;
  /** Belongs to one stack: two runs must not use it at the same time. */
  readonly cacheDirectory: string;
  /** The base of relative paths: the directory of the stack file. */
  readonly baseDirectory: string;
  readonly ca?: string | undefined;
  readonly cacheLimitBytes?: number;
  readonly programs?: UnpackOptions['programs'];
}

export interface ImageSources {
  source(origin: ImageOrigin): ImageSource;
  /** Removes unpacked files. */
  close(): Promise<void>;
}

const CACHE_LIMIT_BYTES = 20 * 1024 ** 3;

export function createImageSources(options: ImageSourcesOptions): ImageSources {
  const preparations = new Map<string, Promise<ReadyImage>>();
  const unpackedIn: string[] = [];

  const prepare = async (origin: ImageOrigin, how: PrepareOptions): Promise<ReadyImage> => {
    await mkdir(options.cacheDirectory, { recursive: true, mode: 0o700 });
    await makeRoom(options);
    const image = await localImage(origin, options, how);
    const folder = origin.compression === undefined ? '' : await mkdtemp(join(options.cacheDirectory, 'unpacked-'));
    if (folder !== '') unpackedIn.push(folder);
    try {
      return await readyImage(image, { ...how, unpackTo: join(folder, 'image'), programs: options.programs ?? {} });
    } catch (error) {
      const isWrong = isFamily(error, 'file') && ['CHECKSUM_MISMATCH', 'UNPACK_FAILED'].includes(error.code);
      if (isWrong && origin.kind === 'download') await discardDownload(origin.url, options.cacheDirectory);
      throw error;
    }
  };

  const shared = async (origin: ImageOrigin, how: PrepareOptions): Promise<ReadyImage> => {
    const key = createHash('sha256').update(JSON.stringify(origin)).digest('hex');
    for (;;) {
      const underWay = preparations.get(key);
      if (!underWay) {
        const own = prepare(origin, how);
        preparations.set(key, own);
        own.catch(() => preparations.delete(key));
        return own;
      }
      const image = await orCanceled(
        underWay.catch(() => undefined),
        how.signal,
      );
      // The attempt of another caller failed, perhaps only because it was cancelled. Try again.
      if (image) return image;
    }
  };

  return {
    source: (origin) => ({ prepare: (how) => shared(origin, how) }),
    close: async () => {
      preparations.clear();
      await Promise.all(unpackedIn.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
    },
  };
}

async function localImage(origin: ImageOrigin, options: ImageSourcesOptions, how: PrepareOptions): Promise<LocalImage> {
  const { compression, sha256, sha512 } = origin;
  const declared = { compression, ...(sha256 !== undefined && { sha256 }), ...(sha512 !== undefined && { sha512 }) };
  if (origin.kind === 'file') {
    const path = isAbsolute(origin.path) ? origin.path : resolve(options.baseDirectory, origin.path);
    return { ...declared, path, name: origin.path };
  }
  const path = await downloaded(origin.url, {
    ...how,
    clock: options.clock,
    directory: options.cacheDirectory,
    ca: options.ca,
    isDeclared: declaredChecksum(origin) !== undefined,
  });
  return { ...declared, path, name: origin.url };
}

/** Removes complete downloads, oldest first, until the rest fits; and everything that dead runs left behind. */
async function makeRoom({
  cacheDirectory,
  cacheLimitBytes = CACHE_LIMIT_BYTES,
  clock,
}: ImageSourcesOptions): Promise<void> {
  const names = await readdir(cacheDirectory);
  const kept = await Promise.all(
    names.map(async (name) => {
      const path = join(cacheDirectory, name);
      const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
      return { path, name, size, mtimeMs };
    }),
  );
  const dayAgo = clock.now() - 24 * 3_600_000;
  for (const { path, name, mtimeMs } of kept) {
    if (name.startsWith('unpacked-') && mtimeMs < dayAgo) await rm(path, { recursive: true, force: true });
  }
  const wholes = kept.filter(({ name }) => name.endsWith('.image')).sort((a, b) => b.mtimeMs - a.mtimeMs);
  let sumBytes = 0;
  for (const { path, size } of wholes) {
    sumBytes += size;
    if (sumBytes > cacheLimitBytes) await unlink(path).catch(() => {});
  }
}
