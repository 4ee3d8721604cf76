import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Upload } from '../../../core/call.ts';
import type { RawParams } from '../../../schema/types.ts';
import { findVolume } from '../../../storage/volumes.ts';
import { asyncRefusalOf, grant, testCall } from '../../../testing/access.ts';
import { answerOf } from '../../../testing/answer.ts';
import { NODE, type StorageRuntime, storageRuntime } from '../../../testing/storage.ts';
import type { RemoteFile } from '../../../world/world.ts';

interface Sending {
  readonly authid?: string;
  readonly upload?: Upload;
}

/** Calls a handler below /nodes/{node}; the answer of a task is its exit status. */
function send(
  runtime: StorageRuntime,
  route: string,
  params: RawParams,
  { authid = 'root@pam', upload }: Sending = {},
) {
  const [method, path = ''] = route.split(' ');
  const call = { ...testCall(runtime, authid), ...(upload && { upload }) };
  return runtime.clock.run(() => answerOf(`${method} /nodes/{node}${path}`, call, params));
}

async function outcome(runtime: StorageRuntime, route: string, params: RawParams, sending: Sending = {}) {
  const upid = String(await send(runtime, route, params, sending));
  await runtime.clock.run(() => runtime.tasks.ended(upid));
  return runtime.world.tasks.get(upid);
}

const refused = (work: () => Promise<unknown>) => asyncRefusalOf(work);
const CONTENT = '/storage/{storage}/content';

describe('content lists', () => {
  it('show a token only the volumes it may use', async () => {
    const runtime = storageRuntime();
    const volids = async () => {
      const list = await send(runtime, `GET ${CONTENT}`, { storage: 'local' }, { authid: 'weak@pve' });
      return (list as { volid: string }[]).map(({ volid }) => volid);
    };
    grant(runtime, 'weak@pve', '/storage/local', ['Datastore.Audit']);
    expect(await volids()).toEqual([
      'local:import/cloud.qcow2',
      'local:import/debian-agent.qcow2',
      'local:iso/blob.iso',
    ]);
    grant(runtime, 'weak@pve', '/vms/100', ['VM.Config.Disk']);
    expect(await volids()).toContain('local:100/vm-100-disk-0.raw');
    expect(await volids()).not.toContain('local:9001/base-9001-disk-0.raw');
  });

  it('of pools show names and parents instead of times', async () => {
    const runtime = storageRuntime();
    await send(runtime, `POST ${CONTENT}`, { storage: 'tank', vmid: 700, filename: 'vm-700-disk-0', size: '1G' });
    expect(await send(runtime, `GET ${CONTENT}`, { storage: 'tank' })).toEqual([
      {
        volid: 'tank:vm-700-disk-0',
        content: 'images',
        format: 'raw',
        size: 1_073_741_824,
        vmid: 700,
        name: 'vm-700-disk-0',
        parent: null,
      },
    ]);
  });
});

describe('single volumes', () => {
  it('are found by bare name too, and only on their own storage', async () => {
    const runtime = storageRuntime();
    const info = await send(runtime, `GET ${CONTENT}/{volume}`, { storage: 'local', volume: 'iso/blob.iso' });
    expect(info).toEqual({
      path: '/var/lib/vz/template/iso/blob.iso',
      size: 3_000_320,
      used: 3_002_368,
      format: 'raw',
    });
    const wrong = { storage: 'local', volume: 'local2:iso/blob.iso' };
    expect(await refused(() => send(runtime, `GET ${CONTENT}/{volume}`, wrong))).toContain(
      'volume: storage ID mismatch (local2 != local)',
    );
  });

  it('are removed even if a VM uses them', async () => {
    const runtime = storageRuntime();
    const gone = await outcome(runtime, `DELETE ${CONTENT}/{volume}`, {
      storage: 'local',
      volume: 'local:100/vm-100-disk-0.raw',
    });
    expect(gone).toMatchObject({ type: 'imgdel', id: '100@local', exitStatus: 'OK' });
    expect(findVolume(runtime.world, NODE, 'local:100/vm-100-disk-0.raw')).toBeUndefined();
  });

  it('return null if the removal ends within the delay', async () => {
    const runtime = storageRuntime();
    const params = { storage: 'local', volume: 'local:iso/blob.iso', delay: 5 };
    expect(await send(runtime, `DELETE ${CONTENT}/{volume}`, params)).toBeNull();
  });

  it('accept a size in KiB, MiB or GiB and a format that matches the name', async () => {
    const runtime = storageRuntime();
    const clash = { storage: 'local', vmid: 710, filename: 'a.raw', size: '1M', format: 'qcow2' };
    expect(await refused(() => send(runtime, `POST ${CONTENT}`, clash))).toContain(
      'different storage formats (qcow2 != raw)',
    );
    const made = { storage: 'local', vmid: 710, filename: 'vm-710-disk-0.qcow2', size: '2G' };
    expect(await send(runtime, `POST ${CONTENT}`, made)).toBe('local:710/vm-710-disk-0.qcow2');
    expect(findVolume(runtime.world, NODE, 'local:710/vm-710-disk-0.qcow2')?.sizeBytes).toBe(2 * 1024 ** 3);
  });
});

describe('status', () => {
  it('lists disabled storages as such, unless content is requested', async () => {
    const runtime = storageRuntime();
    const { storages } = runtime.world;
    const tiny = storages.get('tiny');
    if (tiny) storages.set('tiny', { ...tiny, disabled: true });
    const ids = async (params: RawParams) =>
      ((await send(runtime, 'GET /storage', params)) as { storage: string }[]).map(({ storage }) => storage);
    expect(await ids({})).toContain('tiny');
    expect(await ids({ content: 'images' })).not.toContain('tiny');
    const status = await send(runtime, 'GET /storage/{storage}/status', { storage: 'tiny' });
    expect(status).toMatchObject({ enabled: 0, active: 0, total: 0 });
  });

  it('of a target node shows only what both nodes share', async () => {
    const list = await send(storageRuntime(), 'GET /storage', { target: 'pve2' });
    expect((list as { storage: string }[]).map(({ storage }) => storage)).toEqual(['ceph', 'share']);
  });
});

const ISO: RemoteFile = {
  sizeBytes: 200_000_000,
  mimetype: 'application/octet-stream; x=y',
  format: 'iso',
  compression: undefined,
  unpackedBytes: undefined,
  unpackedChecksums: {},
  checksums: { sha256: 'AA', md5: 'bb' },
  virtualSizeBytes: undefined,
  guest: undefined,
  status: 200,
  trouble: undefined,
};

describe('download-url', () => {
  const route = 'POST /storage/{storage}/download-url';
  const params = { storage: 'local', content: 'iso', filename: 'a b.iso', url: 'https://example.org/a.iso' };

  function online(): StorageRuntime {
    const runtime = storageRuntime();
    runtime.world.downloads.set('https://example.org/a.iso', ISO);
    runtime.world.downloads.set('https://example.org/disk.qcow2', {
      ...ISO,
      format: 'qcow2',
      sizeBytes: 1000,
      virtualSizeBytes: 2 ** 30,
    });
    return runtime;
  }

  it('stores the file under its normalised name', async () => {
    const runtime = online();
    const task = await outcome(runtime, route, { ...params, checksum: 'aa', 'checksum-algorithm': 'sha256' });
    expect(task).toMatchObject({ id: 'a_b.iso', exitStatus: 'OK' });
    expect(task?.log).toContain('calculating checksum...OK, checksum verified');
    expect(task?.log.at(-2)).toBe(
      "download of 'https://example.org/a.iso' to '/var/lib/vz/template/iso/a_b.iso' finished",
    );
    expect(findVolume(runtime.world, NODE, 'local:iso/a_b.iso')?.sizeBytes).toBe(200_000_000);
  });

  it('keeps an image for import with its virtual size', async () => {
    const runtime = online();
    const file = { ...params, content: 'import', filename: 'd.qcow2', url: 'https://example.org/disk.qcow2' };
    await outcome(runtime, route, file);
    expect(findVolume(runtime.world, NODE, 'local:import/d.qcow2')).toMatchObject({
      sizeBytes: 1000,
      virtualSizeBytes: 2 ** 30,
    });
  });

  it('accepts an existing file with the right checksum, and refuses any other', async () => {
    const runtime = online();
    await outcome(runtime, route, params);
    const again = async (checksum?: string) => {
      const check = checksum === undefined ? {} : { checksum, 'checksum-algorithm': 'sha256' };
      return (await outcome(runtime, route, { ...params, ...check }))?.exitStatus;
    };
    expect(await again('aa')).toBe('OK');
    expect(await again('cc')).toBe("checksum mismatch: got 'AA' != expect 'cc', aborting");
    expect(await again()).toBe("refusing to override existing file '/var/lib/vz/template/iso/a_b.iso'");
  });

  it.each([
    [{ url: 'https://example.org/missing.iso' }, 'download failed: exit code 8'],
    [
      { url: 'https://nowhere.invalid/x.iso' },
      "download failed: wget: unable to resolve host address 'nowhere.invalid'",
    ],
    [{ url: 'http://127.0.0.1:9/x.iso' }, 'download failed: Connecting to 127.0.0.1:9... failed: Connection refused.'],
    [{ checksum: 'ff', 'checksum-algorithm': 'md5' }, "checksum mismatch: got 'bb' != expect 'ff'"],
    [{ compression: 'gz', content: 'import', filename: 'a.raw' }, 'decompression not supported for import'],
  ])('with %j ends in failure and leaves nothing', async (changes, text) => {
    const runtime = online();
    const task = await outcome(runtime, route, { ...params, ...changes });
    expect(task?.exitStatus).toBe(text);
    expect(findVolume(runtime.world, NODE, 'local:iso/a_b.iso')).toBeUndefined();
  });

  it('verifies that an image is what its name says', async () => {
    const runtime = online();
    const task = await outcome(runtime, route, { ...params, content: 'import', filename: 'd.qcow2' });
    expect(task?.exitStatus).toMatch(
      /^failed to verify file: qemu-img: Could not open '\/var\/lib\/vz\/import\/d\.qcow2\.tmp_dwnl\.\d+': Image is not in qcow2 format$/,
    );
  });

  it('returns the metadata of a URL', async () => {
    const runtime = online();
    expect(await send(runtime, 'GET /query-url-metadata', { url: 'https://example.org/a.iso' })).toEqual({
      filename: 'a.iso',
      size: 200_000_000,
      mimetype: 'application/octet-stream',
    });
    const missing = { url: 'https://example.org/b.iso' };
    expect(await refused(() => send(runtime, 'GET /query-url-metadata', missing))).toBe(
      "500 invalid server response: '404 Not Found'",
    );
  });
});

describe('upload', () => {
  const file = (fileName: string, content: Uint8Array): Upload => ({
    fileName,
    content,
    sizeBytes: content.byteLength,
    checksums: { sha256: createHash('sha256').update(content).digest('hex') },
    temporaryName: '/var/tmp/pveupload-0123',
  });
  const put = (runtime: StorageRuntime, content: string, upload: Upload) =>
    outcome(
      runtime,
      'POST /storage/{storage}/upload',
      { storage: 'local', content, filename: upload.fileName },
      { upload },
    );

  it('reads the virtual size of a qcow2 image from its header', async () => {
    const runtime = storageRuntime();
    const image = new Uint8Array(512);
    image.set([0x51, 0x46, 0x49, 0xfb, 0, 0, 0, 3]);
    image.set([0, 0, 0, 0, 0x40, 0, 0, 0], 24);
    expect((await put(runtime, 'import', file('x.qcow2', image)))?.exitStatus).toBe('OK');
    expect(findVolume(runtime.world, NODE, 'local:import/x.qcow2')?.virtualSizeBytes).toBe(2 ** 30);
  });

  it('refuses an invalid image', async () => {
    const task = await put(storageRuntime(), 'import', file('x.qcow2', new Uint8Array(512)));
    expect(task?.exitStatus).toBe("qemu-img: Could not open '/var/tmp/pveupload-0123': Image is not in qcow2 format");
  });

  it('needs a storage with directories', async () => {
    const runtime = storageRuntime();
    const upload = file('x.iso', new Uint8Array(1));
    const params = { storage: 'thin', content: 'iso', filename: 'x.iso' };
    expect(await refused(() => send(runtime, 'POST /storage/{storage}/upload', params, { upload }))).toBe(
      "500 can't upload to storage type 'lvmthin'",
    );
  });
});
