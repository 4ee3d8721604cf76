/** Proxmox downloads an image: an existing file that is right or wrong, and everything that ends a download. */
import { describe, expect, it } from 'vitest';
import type { FetchImageInput } from '../../../src/kinds/image/steps.ts';
import { FileBench, KEY, PLACE, remoteFile, SHA256, sha256Of, URL_OF_IMAGE, VOLID } from './bench.ts';

const FETCH: FetchImageInput = { ...PLACE, url: URL_OF_IMAGE, sha256: SHA256 };
const PLAIN: FetchImageInput = { ...PLACE, url: URL_OF_IMAGE };
const OTHER_SUM = sha256Of(Buffer.from('other'));

/** Another client put a file there. */
async function strangerFetches(bench: FileBench, url = 'https://images.example/other.qcow2'): Promise<void> {
  bench.world.downloads.set(url, remoteFile({ sizeBytes: 1_000_000, checksums: { sha256: OTHER_SUM } }));
  await bench.clock.run(async () => {
    const upid = await bench.pve
      .node('pve1')
      .storage('local')
      .downloadUrl({ url, content: 'import', filename: PLACE.file });
    await bench.pve.tasks.wait(upid);
  });
  bench.requests.length = 0;
}

const downloads = (bench: FileBench) => bench.sent().filter((line) => line.endsWith('/download-url')).length;

describe('an image that is not there', () => {
  it('is downloaded, checked and recorded as the storage lists it', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', FETCH);
    expect(bench.files.get(KEY)).toEqual({
      address: 'image.noble',
      node: 'pve1',
      volid: VOLID,
      url: URL_OF_IMAGE,
      sha256: SHA256,
      sizeBytes: 300_000_000,
      ctime: Math.floor((bench.volume()?.ctime ?? 0) / 1000),
    });
    expect(bench.sent()).toEqual([
      'GET /pve1/storage/local/content',
      'POST /pve1/storage/local/download-url',
      'GET /pve1/storage/local/content',
    ]);
  });

  it('shows how far it is from the log of the task', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', FETCH);
    const percents = bench.progress.flatMap(([, percent]) => (percent === undefined ? [] : [percent]));
    expect(percents.length).toBeGreaterThan(1);
    expect(percents).toEqual([...percents].sort((a, b) => a - b));
    expect(percents.at(-1)).toBe(100);
  });

  it('is unpacked by the server where it can', async () => {
    const bench = new FileBench();
    const url = 'https://images.example/tool.iso.gz';
    bench.world.downloads.set(
      url,
      remoteFile({
        format: 'iso',
        compression: 'gz',
        unpackedBytes: 500_000,
        sizeBytes: 400_000,
        virtualSizeBytes: undefined,
      }),
    );
    await bench.run('image.fetch', {
      ...PLACE,
      content: 'iso',
      file: 'tool.iso',
      url,
      compression: 'gz',
      sha256: SHA256,
    });
    expect(bench.files.get('pve1/local:iso/tool.iso')).toMatchObject({ sizeBytes: 500_000 });
    // The sum of the packed file cannot be compared with what lies in the storage.
    await bench.run('image.fetch', {
      ...PLACE,
      content: 'iso',
      file: 'tool.iso',
      url,
      compression: 'gz',
      sha256: SHA256,
    });
    expect(downloads(bench)).toBe(1);
  });

  it('has the time that the stack allows, and the next run attaches to the running task', async () => {
    const bench = new FileBench([{ kind: 'download-stall', for_ms: 120_000, times: 1 }]);
    bench.timeouts = { ...bench.timeouts, imageMs: 30_000 };
    expect((await bench.failure('image.fetch', FETCH)).code).toBe('TASK_TIMEOUT');
    expect(bench.files.get(KEY)?.incomplete).toBe(true);
    bench.timeouts = { ...bench.timeouts, imageMs: 600_000 };
    await bench.run('image.fetch', FETCH);
    expect(bench.tasks('download').filter((status) => status !== 'OK')).toEqual([]);
    expect(bench.volume()?.sizeBytes).toBe(300_000_000);
    expect(bench.files.get(KEY)).toMatchObject({ sizeBytes: 300_000_000, sha256: SHA256 });
  });
});

describe('an image that is there', () => {
  it('is looked at once if it is the one we left', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', FETCH);
    bench.requests.length = 0;
    await bench.run('image.fetch', FETCH);
    expect(bench.sent()).toEqual(['GET /pve1/storage/local/content']);
  });

  it('is compared by the server, without a download, if it is unknown', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', FETCH);
    bench.files.clear();
    const before = bench.volume();
    await bench.run('image.fetch', FETCH);
    expect(bench.volume()).toBe(before);
    expect(bench.files.get(KEY)).toMatchObject({ sha256: SHA256, sizeBytes: 300_000_000 });
  });

  it('is reported, not changed and not recorded as ours if it is wrong', async () => {
    const bench = new FileBench();
    await strangerFetches(bench);
    const before = bench.volume();
    const error = await bench.failure('image.fetch', FETCH);
    expect(error.code).toBe('FILE_DIFFERS');
    expect(error.diagnostic.detail).toContain(`got '${OTHER_SUM}'`);
    expect(error.diagnostic.hint?.text).toContain('proxwright apply --replace image.noble');
    expect(bench.volume()).toBe(before);
    expect(bench.files.size).toBe(0);
  });

  it('is replaced on request if it is wrong', async () => {
    const bench = new FileBench();
    await strangerFetches(bench);
    await bench.run('image.fetch', { ...FETCH, replace: true });
    expect(bench.volume()?.sizeBytes).toBe(300_000_000);
    expect(bench.files.get(KEY)).toMatchObject({ sizeBytes: 300_000_000 });
    expect(bench.tasks('imgdel')).toEqual(['OK']);
  });

  it('is not replaced, even on request, if it is right', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', FETCH);
    bench.files.clear();
    await bench.run('image.fetch', { ...FETCH, replace: true });
    expect(bench.tasks('imgdel')).toEqual([]);
  });

  it('is kept if the new one cannot be downloaded', async () => {
    const bench = new FileBench();
    await strangerFetches(bench);
    const gone = { ...FETCH, url: 'https://images.example/gone.qcow2', replace: true };
    const error = await bench.failure('image.fetch', gone);
    expect(error.code).toBe('DOWNLOAD_FAILED');
    expect(error.diagnostic.detail).toContain('so the old file was not removed');
    expect(bench.volume()).toBeDefined();
    expect(bench.tasks('imgdel')).toEqual([]);
  });

  it('is reported as gone if its replacement failed', async () => {
    const bench = new FileBench([{ kind: 'download-fail', how: 'content', at: 2 }]);
    await strangerFetches(bench);
    const error = await bench.failure('image.fetch', { ...FETCH, replace: true });
    expect(error.code).toBe('CHECKSUM_MISMATCH');
    expect(error.diagnostic.detail).toContain(`${VOLID} does not exist now`);
    expect(bench.volume()).toBeUndefined();
    await bench.run('image.fetch', FETCH);
    expect(bench.volume()?.sizeBytes).toBe(300_000_000);
  });

  it('is used with a warning if it cannot be compared, or downloaded again on request', async () => {
    const bench = new FileBench();
    await strangerFetches(bench);
    await bench.run('image.fetch', PLAIN);
    expect(bench.logs.filter((line) => line.startsWith('warn'))).toEqual([
      expect.stringContaining('without sha256 or sha512 it cannot be checked'),
    ]);
    expect(bench.files.get(KEY)).toMatchObject({ sizeBytes: 1_000_000 });
    await bench.run('image.fetch', { ...PLAIN, replace: true });
    expect(bench.files.get(KEY)).toMatchObject({ sizeBytes: 300_000_000 });
  });

  it('is another image if it comes from another URL without a checksum', async () => {
    const bench = new FileBench();
    await bench.run('image.fetch', PLAIN);
    const moved = { ...PLAIN, url: 'https://images.example/newer.qcow2' };
    bench.world.downloads.set(moved.url, remoteFile({ sizeBytes: 5_000_000 }));
    expect(await bench.failure('image.fetch', moved)).toMatchObject({
      code: 'FILE_DIFFERS',
      diagnostic: { detail: expect.stringContaining(`It was downloaded from ${URL_OF_IMAGE}`) },
    });
    await bench.run('image.fetch', { ...moved, replace: true });
    expect(bench.files.get(KEY)).toMatchObject({ url: moved.url, sizeBytes: 5_000_000 });
  });
});

describe('a download that fails', () => {
  const cases: readonly [string, () => FileBench, Partial<FetchImageInput>, string, string][] = [
    ['404', () => new FileBench(), { url: 'https://images.example/gone.qcow2' }, 'DOWNLOAD_FAILED', 'Open the URL'],
    [
      'no name service',
      () => new FileBench(),
      { url: 'https://nowhere.example/a.qcow2' },
      'DOWNLOAD_FAILED',
      'resolv.conf',
    ],
    ['no server listens', () => new FileBench(), { url: 'https://10.9.9.9/a.qcow2' }, 'DOWNLOAD_FAILED', 'via: upload'],
    ['another sum', () => new FileBench(), { sha256: OTHER_SUM }, 'CHECKSUM_MISMATCH', 'list of checksums'],
    ['a broken line', () => new FileBench([{ kind: 'download-fail', how: 'cut' }]), {}, 'DOWNLOAD_FAILED', ''],
    [
      'a server error',
      () => new FileBench([{ kind: 'download-fail', how: 'status' }]),
      {},
      'DOWNLOAD_FAILED',
      'Open the URL',
    ],
    ['a raw image', rawImage, { sha256: SHA256 }, 'IMAGE_REFUSED', '.raw'],
    ['no room', fullStorage, {}, 'NO_SPACE', 'pvesm status --storage local'],
  ];

  it.each(cases)('says what to do, and leaves nothing behind: %s', async (_, makeBench, input, code, hint) => {
    const bench = makeBench();
    const error = await bench.failure('image.fetch', { ...FETCH, ...input });
    expect({ code: error.code, address: error.diagnostic.where?.address }).toEqual({ code, address: 'image.noble' });
    expect(error.diagnostic.hint?.text ?? '').toContain(hint);
    expect(bench.volume()).toBeUndefined();
    expect(bench.files.size).toBe(0);
  });

  it('is started again if its worker was killed', async () => {
    const bench = new FileBench([{ kind: 'task-fail', match: { task: 'download' }, percent: 60, times: 1 }]);
    expect((await bench.failure('image.fetch', FETCH)).code).toBe('TASK_FAILED');
    expect(bench.volume()).toBeUndefined();
    await bench.run('image.fetch', FETCH);
    expect(bench.volume()?.sizeBytes).toBe(300_000_000);
  });

  it('is reported with the missing privilege', async () => {
    const bench = new FileBench([
      {
        kind: 'refuse',
        match: { path: '*/download-url' },
        status: 403,
        message: 'Permission check failed (/storage/local, Datastore.AllocateTemplate)',
      },
    ]);
    const error = await bench.failure('image.fetch', FETCH);
    expect(error.code).toBe('PRIVILEGE_MISSING');
    expect(bench.files.size).toBe(0);
  });

  it('is reported in the words of the server if the storage does not accept such files', async () => {
    const bench = new FileBench();
    const error = await bench.failure('image.fetch', { ...FETCH, storage: 'local-lvm' });
    expect(error.diagnostic.detail).toContain('not a file based storage');
  });

  function rawImage(): FileBench {
    const bench = new FileBench();
    bench.world.downloads.set(URL_OF_IMAGE, remoteFile({ format: 'raw' }));
    return bench;
  }

  function fullStorage(): FileBench {
    const bench = new FileBench();
    bench.world.downloads.set(URL_OF_IMAGE, remoteFile({ sizeBytes: 10 ** 15 }));
    return bench;
  }
});

describe('an answer that is lost', () => {
  it('is looked up: a download under way is followed, not started twice', async () => {
    const bench = new FileBench([{ kind: 'cut-after', match: { path: '*/download-url' }, at: 1 }]);
    await bench.run('image.fetch', FETCH);
    expect(bench.tasks('download')).toEqual(['OK']);
    expect(bench.files.get(KEY)).toMatchObject({ sizeBytes: 300_000_000 });
    expect(bench.files.get(KEY)).not.toHaveProperty('incomplete');
  });

  it('does no harm if the download was never begun', async () => {
    const bench = new FileBench([{ kind: 'cut-before', match: { path: '*/download-url' }, at: 1 }]);
    await bench.run('image.fetch', PLAIN);
    expect(bench.tasks('download')).toEqual(['OK']);
  });

  it('does not hide that a download without a checksum, which has ended meanwhile, is ours', async () => {
    const bench = new FileBench([{ kind: 'proxy-timeout', match: { path: '*/download-url' }, at: 1 }]);
    await bench.run('image.fetch', PLAIN);
    expect(bench.tasks('download')).toEqual(['OK']);
    expect(bench.logs.filter((line) => line.startsWith('warn'))).toEqual([]);
    expect(bench.files.get(KEY)).not.toHaveProperty('incomplete');
  });
});
