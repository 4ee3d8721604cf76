/** Unpacks what real programs packed; skips programs that are not installed. */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../base/errors.ts';
import type { Compression } from '../kinds/image/file.ts';
import { unpacked } from './image-unpack.ts';

const NOISE = randomBytes(300_000);
/** Like a disk: data, many zeros, data. */
const IMAGE = Buffer.concat([NOISE, Buffer.alloc(3_000_000), NOISE]);

const isInstalled = (program: string) => spawnSync(program, ['--version']).error === undefined;

function pack(program: string, content: Buffer, ...args: string[]): Buffer {
  return spawnSync(program, ['-c', ...args], { input: content, maxBuffer: 64 * 1024 ** 2 }).stdout;
}

async function* inPieces(packed: Buffer, size = 10_007): AsyncIterable<Uint8Array> {
  for (let start = 0; start < packed.length; start += size) yield packed.subarray(start, start + size);
}

const sum = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

async function unpack(compression: Compression, packed: AsyncIterable<Uint8Array>, options = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of unpacked(compression, packed, { name: 'a.raw', ...options })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const PACKERS: readonly [Compression, string, string[]][] = [
  ['xz', 'xz', []],
  ['xz', 'xz', ['-T2', '--block-size=1MiB']],
  ['xz', 'xz', ['-9', '--check=crc32']],
  ['gz', 'gzip', []],
  ['zst', 'zstd', ['-q']],
  ['bz2', 'bzip2', []],
];

describe.each(PACKERS)('%s by %s %j', (compression, program, args) => {
  const test = it.skipIf(!isInstalled(program));

  test('is unpacked to the same bytes', async () => {
    expect(sum(await unpack(compression, inPieces(pack(program, IMAGE, ...args))))).toBe(sum(IMAGE));
  });

  test('of an empty file is an empty file', async () => {
    expect(await unpack(compression, inPieces(pack(program, Buffer.alloc(0), ...args)))).toHaveLength(0);
  });

  test('that is cut off is rejected', async () => {
    const packed = pack(program, IMAGE, ...args);
    await expect(unpack(compression, inPieces(packed.subarray(0, packed.length / 2)))).rejects.toMatchObject({
      code: 'UNPACK_FAILED',
      diagnostic: { detail: expect.stringContaining('a.raw cannot be unpacked') },
    });
  });

  test('that has another format is rejected', async () => {
    await expect(unpack(compression, inPieces(NOISE))).rejects.toMatchObject({ code: 'UNPACK_FAILED' });
  });

  test('rethrows the error of its source', async () => {
    const packed = pack(program, IMAGE, ...args);
    const failing = async function* () {
      yield packed.subarray(0, packed.length / 2);
      throw new ProxwrightError({ code: 'UNREADABLE_FILE', detail: 'gone' });
    };
    await expect(unpack(compression, failing())).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
  });
});

describe('unpacking', () => {
  it('handles concatenated files', async () => {
    const packed = Buffer.concat([gzipSync(NOISE), gzipSync(NOISE)]);
    expect(sum(await unpack('gz', inPieces(packed)))).toBe(sum(Buffer.concat([NOISE, NOISE])));
  });

  it('notices a flipped bit', async () => {
    const packed = gzipSync(IMAGE);
    packed.writeUInt8(packed.readUInt8(200_000) ^ 1, 200_000);
    await expect(unpack('gz', inPieces(packed))).rejects.toMatchObject({ code: 'UNPACK_FAILED' });
  });

  it.skipIf(!isInstalled('xz'))('of several files at once does not mix them', async () => {
    const images = [NOISE, IMAGE, Buffer.from('small')];
    const sums = await Promise.all(images.map(async (image) => sum(await unpack('xz', inPieces(pack('xz', image))))));
    expect(sums).toEqual(images.map(sum));
  });

  it.each(['bz2', 'lzo'] as const)('names the missing program for %s', async (compression) => {
    const programs = { [compression]: 'no-such-program' };
    await expect(unpack(compression, inPieces(NOISE), { programs })).rejects.toMatchObject({
      code: 'UNPACK_FAILED',
      diagnostic: {
        hint: { text: 'Install no-such-program on this machine, or unpack the file yourself and use its path.' },
      },
    });
  });

  it.skipIf(!isInstalled('bzip2'))('can be stopped early', async () => {
    const packed = pack('bzip2', IMAGE);
    for await (const chunk of unpacked('bz2', inPieces(packed), { name: 'a' })) {
      expect(chunk.byteLength).toBeGreaterThan(0);
      break;
    }
  });
});
