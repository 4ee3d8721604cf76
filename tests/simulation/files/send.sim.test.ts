/** Uploading and deleting an image. */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../src/base/errors.ts';
import type { SendImageInput } from '../../../src/kinds/image/steps.ts';
import { BYTES, bytesSource, FileBench, KEY, PLACE, SHA256, sha256Of, VOLID } from './bench.ts';

const SEND: SendImageInput = { ...PLACE, origin: { kind: 'file', path: 'noble.qcow2' } };
const OTHER = Buffer.from(BYTES);
OTHER.write('another', 1000);
const SHORTER = BYTES.subarray(0, 2_000_000);

async function strangerSends(bench: FileBench, bytes: Uint8Array): Promise<void> {
  await bench.clock.run(async () => {
    const upid = await bench.pve
      .node('pve1')
      .storage('local')
      .upload({ content: 'import', filename: PLACE.file, bytes });
    await bench.pve.tasks.wait(upid);
  });
  bench.requests.length = 0;
}

const sumThere = (bench: FileBench) => bench.volume()?.checksums?.['sha256'];

describe('an image that we send', () => {
  it('arrives complete, is checked by the server and recorded as the storage lists it', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    expect(sumThere(bench)).toBe(SHA256);
    expect(bench.files.get(KEY)).toMatchObject({ volid: VOLID, sha256: SHA256, sizeBytes: BYTES.byteLength });
    expect(bench.sent()).toEqual([
      'GET /pve1/storage/local/content',
      'POST /pve1/storage/local/upload',
      'GET /pve1/storage/local/content',
    ]);
    const log = [...bench.world.tasks.values()].flatMap((task) => task.log);
    expect(JSON.stringify(log)).toContain('OK, checksum verified');
  });

  it('shows how far it is', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    const percents = bench.progress.filter(([what]) => what.startsWith('upload')).map(([, percent]) => percent ?? -1);
    expect(percents.length).toBeGreaterThan(5);
    expect(percents.at(-1)).toBe(100);
    expect(percents).toEqual([...new Set(percents)].sort((a, b) => a - b));
  });

  it('arrives on another node than the one that was asked', async () => {
    const bench = new FileBench();
    await bench.run('image.send', { ...SEND, node: 'pve2' });
    expect(bench.volume('pve2')?.sizeBytes).toBe(BYTES.byteLength);
    expect(bench.files.get(`pve2/${VOLID}`)).toMatchObject({ node: 'pve2' });
  });

  it('is not sent again while it is there', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    bench.requests.length = 0;
    await bench.run('image.send', SEND);
    expect(bench.sent()).toEqual(['GET /pve1/storage/local/content']);
  });

  it('does not overwrite the file of another client', async () => {
    const bench = new FileBench();
    await strangerSends(bench, SHORTER);
    const error = await bench.failure('image.send', SEND);
    expect(error.code).toBe('FILE_DIFFERS');
    expect(error.diagnostic.hint?.text).toContain('proxwright apply --replace image.noble');
    expect(sumThere(bench)).toBe(sha256Of(SHORTER));
    expect(bench.files.size).toBe(0);
    await bench.run('image.send', { ...SEND, replace: true });
    expect(sumThere(bench)).toBe(SHA256);
  });

  it('is taken for a file of the same length that exists, with a warning', async () => {
    const bench = new FileBench();
    await strangerSends(bench, OTHER);
    await bench.run('image.send', SEND);
    expect(sumThere(bench)).toBe(sha256Of(OTHER));
    expect(bench.logs.filter((line) => line.startsWith('warn'))).toEqual([expect.stringContaining('not compared')]);
  });

  it('is reported if it has changed since, and uploaded on request', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    bench.source = bytesSource(OTHER);
    expect((await bench.failure('image.send', SEND)).code).toBe('FILE_DIFFERS');
    await bench.run('image.send', { ...SEND, replace: true });
    expect(sumThere(bench)).toBe(sha256Of(OTHER));
  });

  it('is not sent at all if it cannot be prepared', async () => {
    const bench = new FileBench();
    bench.source = {
      prepare: async () => {
        throw new ProxwrightError({ code: 'CHECKSUM_MISMATCH', detail: 'wrong' });
      },
    };
    expect((await bench.failure('image.send', SEND)).code).toBe('CHECKSUM_MISMATCH');
    expect(bench.sent()).toEqual([]);
  });

  it('has a time limit for its preparation', async () => {
    const bench = new FileBench();
    bench.source = {
      prepare: ({ signal }) =>
        new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped')))),
    };
    const error = await bench.failure('image.send', SEND);
    expect(error.diagnostic.detail).toContain('longer than 1h 0m');
    expect(error.diagnostic.hint?.text).toContain('rollout.timeouts.image');
  });

  it('is refused in the words of the server, with the format that its name promises', async () => {
    const bench = new FileBench();
    bench.source = bytesSource(Buffer.alloc(1_000_000));
    const error = await bench.failure('image.send', SEND);
    expect(error).toMatchObject({
      code: 'IMAGE_REFUSED',
      diagnostic: { hint: { text: expect.stringContaining('.raw') } },
    });
    expect(bench.volume()).toBeUndefined();
    expect(bench.files.size).toBe(0);
  });

  it('reports that /var/tmp needs room too if there is none', async () => {
    const bench = new FileBench([{ kind: 'disk-full', match: { path: '*/upload' }, storage: 'local', at: 1 }]);
    const error = await bench.failure('image.send', SEND);
    expect(error).toMatchObject({
      code: 'NO_SPACE',
      diagnostic: { hint: { text: expect.stringContaining('/var/tmp') } },
    });
    expect(bench.files.size).toBe(0);
    await bench.clock.advance(120_000);
    await bench.run('image.send', SEND);
    expect(sumThere(bench)).toBe(SHA256);
  });

  it('reports that the old one is gone if the upload that replaces it breaks off', async () => {
    const bench = new FileBench([{ kind: 'disk-full', match: { path: '*/upload' }, storage: 'local', at: 2 }]);
    await strangerSends(bench, SHORTER);
    const error = await bench.failure('image.send', { ...SEND, replace: true });
    expect(error.code).toBe('NO_SPACE');
    expect(error.diagnostic.detail).toContain(`${VOLID} does not exist now`);
    expect(bench.volume()).toBeUndefined();
    expect(bench.files.size).toBe(0);
  });

  it('leaves the old one, and its record, if the upload that replaces it is refused', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    const before = bench.files.get(KEY);
    bench.source = bytesSource(Buffer.alloc(1_000_000));
    const error = await bench.failure('image.send', { ...SEND, replace: true });
    expect(error.code).toBe('IMAGE_REFUSED');
    expect(error.diagnostic.detail).not.toContain('does not exist now');
    expect(sumThere(bench)).toBe(SHA256);
    expect(bench.files.get(KEY)).toEqual(before);
  });

  it.each([0, 30, 100])('is sent again if the connection breaks at %i percent', async (percent) => {
    const bench = new FileBench([{ kind: 'upload-cut', percent, times: 2 }]);
    await bench.run('image.send', SEND);
    expect(sumThere(bench)).toBe(SHA256);
    expect(bench.tasks('imgcopy')).toEqual(['OK']);
  });

  it('is given up within its time if the connection stalls for good', async () => {
    const bench = new FileBench([{ kind: 'upload-stall', percent: 50, for_ms: 100 * 3_600_000 }]);
    bench.timeouts = { ...bench.timeouts, imageMs: 600_000 };
    const before = bench.clock.now();
    expect((await bench.failure('image.send', SEND)).code).toBe('OUTCOME_UNKNOWN');
    expect(bench.clock.now() - before).toBeLessThan(2 * 600_000);
    bench.faults.stop();
    await bench.run('image.send', SEND);
    expect(sumThere(bench)).toBe(SHA256);
  });

  it.each(['pve1', 'pve2'])('is looked up and not sent twice if %s does not answer', async (node) => {
    const bench = new FileBench([{ kind: 'cut-after', match: { path: '*/upload' }, at: 1 }]);
    // The copy takes a while, wherever its task runs.
    Object.assign(bench.world.storages.get('local') ?? {}, { bandwidthBytesPerSecond: 50_000 });
    await bench.run('image.send', { ...SEND, node });
    expect(bench.tasks('imgcopy')).toEqual(['OK']);
    expect(bench.files.get(`${node}/${VOLID}`)).toMatchObject({ sizeBytes: BYTES.byteLength });
    expect(bench.files.get(`${node}/${VOLID}`)).not.toHaveProperty('incomplete');
  });
});

describe('an image that is removed', () => {
  it('is deleted, with its record', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    await bench.run('image.remove', PLACE);
    expect(bench.volume()).toBeUndefined();
    expect(bench.files.size).toBe(0);
    await bench.run('image.remove', PLACE);
    expect(bench.tasks('imgdel')).toEqual(['OK']);
  });

  it('is not touched where it is another one by now', async () => {
    const bench = new FileBench();
    await bench.run('image.send', SEND);
    await bench.clock.advance(60_000);
    await strangerSends(bench, SHORTER);
    expect((await bench.failure('image.remove', PLACE)).code).toBe('NOT_OURS');
    bench.files.clear();
    expect((await bench.failure('image.remove', PLACE)).code).toBe('NOT_OURS');
    expect(bench.volume()).toBeDefined();
  });

  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)(
    'is deleted although the answer is lost: %s',
    async (kind) => {
      const bench = new FileBench([{ kind, match: { method: 'DELETE' }, at: 1 }]);
      await bench.run('image.send', SEND);
      await bench.run('image.remove', PLACE);
      expect(bench.volume()).toBeUndefined();
      expect(bench.files.size).toBe(0);
    },
  );
});
