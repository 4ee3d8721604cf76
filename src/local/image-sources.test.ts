/** Local files and downloads, prepared for upload, with a real web server and real files. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../base/clock.ts';
import type { ReadyImage } from '../base/image-source.ts';
import type { ImageOrigin } from '../kinds/image/steps.ts';
import { createImageSources, type ImageSources, type ImageSourcesOptions } from './image-sources.ts';
import { type FileServer, startFileServer } from './testing/file-server.ts';

const IMAGE = Buffer.concat([randomBytes(700_000), Buffer.alloc(300_000)]);
const sum = (content: Uint8Array, algorithm = 'sha256') => createHash(algorithm).update(content).digest('hex');

let directory: string;
let server: FileServer;
const sources: ImageSources[] = [];
/** Skips the pauses between attempts. */
const clock: Clock = { now: () => Date.now(), ticks: () => performance.now(), sleep: async () => {} };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxwright-images-'));
  server = await startFileServer(IMAGE);
});

afterEach(async () => {
  for (const each of sources.splice(0)) await each.close();
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

function open(options: Partial<ImageSourcesOptions> = {}): ImageSources {
  const made = createImageSources({
    clock,
    cacheDirectory: join(directory, 'cache'),
    baseDirectory: directory,
    ca: server.ca,
    ...options,
  });
  sources.push(made);
  return made;
}

const prepare = (origin: ImageOrigin, options?: Partial<ImageSourcesOptions>) =>
  open(options).source(origin).prepare({});

async function bytesOf(image: ReadyImage): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of image.open()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function expectImage(image: ReadyImage, content: Buffer = IMAGE): Promise<void> {
  expect({ sizeBytes: image.sizeBytes, sha256: image.sha256 }).toEqual({
    sizeBytes: content.length,
    sha256: sum(content),
  });
  expect(sum(await bytesOf(image))).toBe(sum(content));
}

const download = (extra: Partial<Extract<ImageOrigin, { kind: 'download' }>> = {}): ImageOrigin => ({
  kind: 'download',
  url: server.url,
  ...extra,
});

describe('a local file', () => {
  it('is uploaded unchanged, with its checksum, and can be read again', async () => {
    await writeFile(join(directory, 'disk.raw'), IMAGE);
    const image = await prepare({ kind: 'file', path: 'disk.raw', sha256: sum(IMAGE).toUpperCase() });
    await expectImage(image);
    await expectImage(image);
  });

  it('is compared with a declared SHA-512', async () => {
    await writeFile(join(directory, 'disk.raw'), IMAGE);
    await expectImage(await prepare({ kind: 'file', path: 'disk.raw', sha512: sum(IMAGE, 'sha512') }));
    const wrong = prepare({ kind: 'file', path: 'disk.raw', sha512: sum(Buffer.from('other'), 'sha512') });
    await expect(wrong).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' });
  });

  it('that is compressed is unpacked: the declared checksum is that of the file, the uploaded one that of its content', async () => {
    const packed = gzipSync(IMAGE);
    await writeFile(join(directory, 'disk.raw.gz'), packed);
    const reported: string[] = [];
    const image = await open()
      .source({ kind: 'file', path: 'disk.raw.gz', compression: 'gz', sha256: sum(packed) })
      .prepare({ onProgress: (what) => reported.push(what) });
    await expectImage(image);
    expect(new Set(reported)).toEqual(new Set(['unpack']));
  });

  it('leaves no unpacked files behind', async () => {
    await writeFile(join(directory, 'disk.raw.gz'), gzipSync(IMAGE));
    await prepare({ kind: 'file', path: 'disk.raw.gz', compression: 'gz' });
    expect(await readdir(join(directory, 'cache'))).toHaveLength(1);
    await sources[0]?.close();
    expect(await readdir(join(directory, 'cache'))).toEqual([]);
  });

  it('removes the unpacked files of a run that died', async () => {
    const remains = join(directory, 'cache', 'unpacked-abcdef');
    await mkdir(remains, { recursive: true });
    await utimes(remains, 1, 1);
    await writeFile(join(directory, 'disk.raw'), IMAGE);
    await prepare({ kind: 'file', path: 'disk.raw' });
    expect(await readdir(join(directory, 'cache'))).toEqual([]);
  });

  it.each([['absent.raw'], ['.']])('that cannot be read is named: %s', async (path) => {
    await expect(prepare({ kind: 'file', path })).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
  });

  it('is prepared once for all callers, and again after a failure', async () => {
    const made = open();
    const origin: ImageOrigin = { kind: 'file', path: 'disk.raw' };
    await expect(made.source(origin).prepare({})).rejects.toMatchObject({ code: 'UNREADABLE_FILE' });
    await writeFile(join(directory, 'disk.raw'), IMAGE);
    const [one, two] = await Promise.all([made.source(origin).prepare({}), made.source(origin).prepare({})]);
    expect(one).toBe(two);
  });

  it('stops being read when the signal fires', async () => {
    await writeFile(join(directory, 'disk.raw'), IMAGE);
    const prepared = open().source({ kind: 'file', path: 'disk.raw' }).prepare({ signal: AbortSignal.abort() });
    await expect(prepared).rejects.toMatchObject({ code: 'CANCELED' });
  });
});

describe('a download to this machine', () => {
  it('is complete and reports its progress', async () => {
    const reported: (number | undefined)[] = [];
    const image = await open()
      .source(download({ sha256: sum(IMAGE) }))
      .prepare({ onProgress: (what, fraction) => what === 'download' && reported.push(fraction) });
    await expectImage(image);
    expect(reported.at(-1)).toBe(1);
  });

  it('resumes after a lost connection, if the server supports it', async () => {
    server.cuts = [300_000, 200_000];
    await expectImage(await prepare(download()));
    const ranges = server.requests.map(({ headers }) => headers.range);
    expect(ranges[0]).toBeUndefined();
    expect(ranges).toHaveLength(3);
    for (const range of ranges.slice(1)) expect(range).toMatch(/^bytes=\d+-$/);
  });

  it('is resumed by a later run', async () => {
    server.cuts = Array.from({ length: 20 }, (_, index) => (index === 0 ? 400_000 : 0));
    await expect(prepare(download())).rejects.toMatchObject({ code: 'DOWNLOAD_FAILED' });
    server.cuts = [];
    server.requests.length = 0;
    await expectImage(await prepare(download()));
    expect(server.requests.map(({ headers }) => headers.range)).toEqual([expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
  });

  it('starts again if the server has another file in the meantime', async () => {
    server.cuts = Array.from({ length: 20 }, (_, index) => (index === 0 ? 400_000 : 0));
    await expect(prepare(download())).rejects.toMatchObject({ code: 'DOWNLOAD_FAILED' });
    server.cuts = [];
    server.content = randomBytes(500_000);
    server.etag = '"two"';
    await expectImage(await prepare(download()), server.content);
  });

  it('starts again if the server does not support ranges, or sends no validator', async () => {
    server.hasRanges = false;
    server.cuts = [300_000];
    await expectImage(await prepare(download()));
    server.etag = undefined;
    server.cuts = [300_000];
    await expectImage(await prepare(download({ url: `${server.url}?other` })));
  });

  it('is not repeated with a declared checksum, and only revalidated without one', async () => {
    await prepare(download({ sha256: sum(IMAGE) }));
    await prepare(download({ sha256: sum(IMAGE) }));
    expect(server.requests).toHaveLength(1);
    await expectImage(await prepare(download()));
    expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"one"']);
  });

  it('with a wrong checksum is discarded', async () => {
    await expect(prepare(download({ sha256: sum(Buffer.from('other')) }))).rejects.toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      diagnostic: { detail: expect.stringContaining(sum(IMAGE)) },
    });
    expect((await readdir(join(directory, 'cache'))).filter((name) => name.endsWith('.image'))).toEqual([]);
  });

  it('is unpacked', async () => {
    server.content = gzipSync(IMAGE);
    await expectImage(await prepare(download({ compression: 'gz', sha256: sum(server.content) })));
  });

  it('follows redirects, but not to an unencrypted URL', async () => {
    server.answer = (request, response) => {
      if (request.url === '/images/disk.raw') return void response.writeHead(302, { location: '/mirror/disk' }).end();
      response.end(IMAGE);
    };
    await expectImage(await prepare(download()));
    server.answer = (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
    await expect(prepare(download({ url: `${server.url}?plain` }))).rejects.toMatchObject({
      code: 'DOWNLOAD_FAILED',
      diagnostic: { detail: expect.stringContaining('not encrypted') },
    });
    server.answer = (request, response) => void response.writeHead(302, { location: request.url }).end();
    await expect(prepare(download({ url: `${server.url}?loop` }))).rejects.toMatchObject({
      diagnostic: { detail: expect.stringContaining('redirects more than') },
    });
  });

  it('quotes the response of the web server', async () => {
    server.answer = (_, response) => void response.writeHead(404, 'Not Found').end();
    await expect(prepare(download())).rejects.toMatchObject({
      code: 'DOWNLOAD_FAILED',
      diagnostic: { detail: `${server.url} responded with 404 Not Found.` },
    });
    expect(server.requests).toHaveLength(1);
  });

  it('verifies the certificate', async () => {
    await expect(prepare(download(), { ca: undefined })).rejects.toMatchObject({
      code: 'DOWNLOAD_FAILED',
      diagnostic: { hint: { text: expect.stringContaining('does not trust the certificate') } },
    });
    expect(server.requests).toHaveLength(0);
  });

  it.each([
    ['https://no-such-host.invalid/a.raw', 'The host name does not exist'],
    ['https://127.0.0.1:1/a.raw', 'The port is closed'],
    ['http://127.0.0.1:1/a.raw', 'Use https, or declare sha256.'],
  ])('of %s says what to do', async (url, hint) => {
    await expect(prepare(download({ url }))).rejects.toMatchObject({
      code: 'DOWNLOAD_FAILED',
      diagnostic: { hint: { text: expect.stringMatching(new RegExp(`${hint}|name service did not answer`)) } },
    });
  });

  it('ends as canceled when the signal fires, and keeps what it has', async () => {
    const stop = new AbortController();
    const prepared = open()
      .source(download())
      .prepare({
        signal: stop.signal,
        onProgress: (_, fraction = 0) => {
          if (fraction > 0.2) stop.abort();
        },
      });
    await expect(prepared).rejects.toMatchObject({ code: 'CANCELED' });
    expect(await readdir(join(directory, 'cache'))).toContainEqual(expect.stringMatching(/\.part$/));
  });

  it('frees space by removing older ones', async () => {
    await prepare(download({ sha256: sum(IMAGE) }));
    const [old = ''] = (await readdir(join(directory, 'cache'))).filter((name) => name.endsWith('.image'));
    await utimes(join(directory, 'cache', old), 1, 1);
    const limit = { cacheLimitBytes: 1.5 * IMAGE.length };
    await prepare(download({ url: `${server.url}?two` }), limit);
    await prepare(download({ url: `${server.url}?three` }), limit);
    const left = (await readdir(join(directory, 'cache'))).filter((name) => name.endsWith('.image'));
    expect(left).toHaveLength(2);
    expect(left).not.toContain(old);
    expect(await readFile(join(directory, 'cache', left[0] ?? ''))).toHaveLength(IMAGE.length);
  });
});
