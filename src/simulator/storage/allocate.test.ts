import { describe, expect, it } from 'vitest';
import { asyncRefusalOf } from '../testing/access.ts';
import { addStorage, ignored, NODE, type StorageRuntime, storageRuntime } from '../testing/storage.ts';
import { type AllocateInput, allocateVolume, freeVolume } from './allocate.ts';
import { convertToBase, linkedClone } from './clone.ts';
import { hasFeature } from './features.ts';
import { renameVolume, resizeVolume } from './resize.ts';
import { assertRollbackPossible, deleteVolumeSnapshot, rollbackVolume, snapshotVolume } from './snapshots.ts';
import { storageSpace } from './space.ts';
import { findVolume, isBaseInUse, storageConfig, volidOf } from './volumes.ts';

const GIB = 1024 ** 3;

const allocate = (runtime: StorageRuntime, input: Partial<AllocateInput> & Pick<AllocateInput, 'storageId'>) =>
  runtime.clock.run(() =>
    allocateVolume(runtime, { node: NODE, vmid: 500, format: undefined, sizeKiB: 102_400, log: ignored, ...input }),
  );
const refused = (runtime: StorageRuntime, work: () => Promise<unknown>) =>
  runtime.clock.run(() => asyncRefusalOf(work));

describe('allocating', () => {
  it('uses the lowest free number of the guest, whatever the format', async () => {
    const runtime = storageRuntime();
    const names = [];
    for (const format of ['raw', 'qcow2', 'raw'] as const) {
      names.push((await allocate(runtime, { storageId: 'local', format })).name);
    }
    expect(names).toEqual(['500/vm-500-disk-0.raw', '500/vm-500-disk-1.qcow2', '500/vm-500-disk-2.raw']);
    const log: string[] = [];
    await runtime.clock.run(() =>
      freeVolume(runtime, { node: NODE, volid: 'local:500/vm-500-disk-1.qcow2', log: (line) => log.push(line) }),
    );
    expect((await allocate(runtime, { storageId: 'local' })).name).toBe('500/vm-500-disk-1.raw');
    expect(log).toEqual([]);
  });

  it('counts each extension separately on NFS, which has no subvolumes', async () => {
    const runtime = storageRuntime();
    await allocate(runtime, { storageId: 'share', format: 'raw' });
    const second = await allocate(runtime, { storageId: 'share', format: 'qcow2' });
    expect(second.name).toBe('500/vm-500-disk-0.qcow2');
  });

  it('prints what the image tool prints', async () => {
    const runtime = storageRuntime();
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    await allocate(runtime, { storageId: 'local', format: 'raw', sizeKiB: 104_858, log });
    await allocate(runtime, {
      storageId: 'local2',
      format: 'qcow2',
      sizeKiB: 4096,
      name: 'vm-500-cloudinit.qcow2',
      log,
    });
    expect(lines).toEqual([
      "Formatting '/var/lib/vz/images/500/vm-500-disk-0.raw', fmt=raw size=107374592 preallocation=off",
      "Formatting '/srv/local2/images/500/vm-500-cloudinit.qcow2', fmt=qcow2 cluster_size=65536 extended_l2=off " +
        'preallocation=metadata compression_type=zlib size=4194304 lazy_refcounts=off refcount_bits=16',
    ]);
  });

  it('refuses a name that is in use, even by a linked clone of the same file name', async () => {
    const runtime = storageRuntime();
    await runtime.clock.run(() =>
      linkedClone(runtime, { node: NODE, volid: 'local:9000/base-9000-disk-0.qcow2', newVmid: 500, log: ignored }),
    );
    const again = () =>
      allocateVolume(runtime, {
        node: NODE,
        storageId: 'local',
        vmid: 500,
        format: 'qcow2',
        name: 'vm-500-disk-0.qcow2',
        sizeKiB: 1,
        log: ignored,
      });
    expect(await refused(runtime, again)).toBe(
      "500 disk image '/var/lib/vz/images/500/vm-500-disk-0.qcow2' already exists",
    );
  });

  it('rounds up to what the storage supports, and reserves it without thin provisioning', async () => {
    const runtime = storageRuntime();
    const sizes = [];
    for (const storageId of ['local', 'thin', 'thick', 'tank', 'ceph']) {
      sizes.push((await allocate(runtime, { storageId, format: 'raw', sizeKiB: 528 })).sizeBytes);
    }
    expect(sizes).toEqual([540_672, 4_194_304, 4_194_304, 1_048_576, 1_048_576]);
    const used = (id: string) => storageSpace(runtime.world, storageConfig(runtime.world, id), NODE)?.usedBytes;
    expect([used('thin'), used('thick'), used('tank')]).toEqual([0, 4_194_304, 1_048_576]);
  });

  it.each([
    [
      'thick',
      'lvcreate \'vg0/vm-500-disk-0\' error:   Volume group "vg0" has insufficient free space (25600 extents): 51200 required.',
    ],
    ['tank', "zfs error: cannot create 'tank/vm-500-disk-0': out of space"],
  ])('is refused on %s when the disk does not fit', async (storageId, text) => {
    const runtime = storageRuntime();
    const work = () =>
      allocateVolume(runtime, {
        node: NODE,
        storageId,
        vmid: 500,
        format: 'raw',
        sizeKiB: 200 * 1024 ** 2,
        log: ignored,
      });
    expect(await refused(runtime, work)).toBe(`500 ${text}`);
  });

  it('refuses missing, disabled and foreign storages', async () => {
    const runtime = storageRuntime();
    const { storages } = runtime.world;
    const thin = storageConfig(runtime.world, 'thin');
    storages.set('off', { ...thin, id: 'off', disabled: true });
    storages.set('away', { ...thin, id: 'away', nodes: new Set(['pve2']) });
    const tried = (storageId: string) =>
      refused(runtime, () =>
        allocateVolume(runtime, { node: NODE, storageId, vmid: 500, format: 'raw', sizeKiB: 1, log: ignored }),
      );
    expect(await tried('nosuch')).toBe("500 storage 'nosuch' does not exist");
    expect(await tried('off')).toBe("500 storage 'off' is disabled");
    expect(await tried('away')).toBe("500 storage 'away' is not available on node 'pve1'");
  });

  it('waits for the lock of the storage and logs that', async () => {
    const runtime = storageRuntime();
    const lines: string[] = [];
    const work = (storageId: string, vmid: number) =>
      allocateVolume(runtime, {
        node: NODE,
        storageId,
        vmid,
        format: 'raw',
        sizeKiB: 1024,
        log: (line) => lines.push(line),
      });
    await runtime.clock.run(() => Promise.all([work('tank', 1000), work('tank', 1001)]));
    expect(lines).toEqual(['trying to acquire lock...', ' OK']);
    lines.length = 0;
    await runtime.clock.run(() => Promise.all([work('ceph', 1000), work('ceph', 1001)]));
    expect(lines).toEqual(["trying to acquire cfs lock 'storage-ceph' ..."]);
  });

  it('gives up on a lock after ten seconds, with the message of its kind', async () => {
    const runtime = storageRuntime();
    await runtime.locks.acquire(`${NODE}:/var/lock/pve-manager/pve-storage-tank`, 'exclusive', 0);
    await runtime.locks.acquire('cfs:storage-ceph', 'exclusive', 0);
    const tried = (storageId: string) =>
      refused(runtime, () =>
        allocateVolume(runtime, { node: NODE, storageId, vmid: 500, format: 'raw', sizeKiB: 1, log: ignored }),
      );
    expect(await tried('tank')).toBe("500 can't lock file '/var/lock/pve-manager/pve-storage-tank' - got timeout");
    expect(await tried('ceph')).toBe("500 cfs-lock 'storage-ceph' error: got lock request timeout");
  });
});

describe('linked clones', () => {
  it('of files are qcow2 on top of the base, announced as recorded', async () => {
    const runtime = storageRuntime();
    const lines: string[] = [];
    const clone = await runtime.clock.run(() =>
      linkedClone(runtime, {
        node: NODE,
        volid: 'local:9001/base-9001-disk-0.raw',
        newVmid: 302,
        log: (line) => lines.push(line),
      }),
    );
    expect(volidOf(clone)).toBe('local:9001/base-9001-disk-0.raw/302/vm-302-disk-0.qcow2');
    expect(lines).toEqual([
      'clone 9001/base-9001-disk-0.raw: images, vm-302-disk-0.qcow2, 302 to vm-302-disk-0.qcow2 (base=../9001/base-9001-disk-0.raw)',
      "Formatting '/var/lib/vz/images/302/vm-302-disk-0.qcow2', fmt=qcow2 cluster_size=131072 extended_l2=on preallocation=off " +
        'compression_type=zlib size=1073741824 backing_file=../9001/base-9001-disk-0.raw backing_fmt=raw lazy_refcounts=off refcount_bits=16',
    ]);
    expect(findVolume(runtime.world, NODE, 'local:302/vm-302-disk-0.qcow2')).toBe(clone);
  });

  it.each([
    ['thin', 'thin:base-500-disk-0', 'thin:vm-501-disk-0', false],
    ['tank', 'tank:base-500-disk-0', 'tank:base-500-disk-0/vm-501-disk-0', true],
    ['ceph', 'ceph:base-500-disk-0', 'ceph:base-500-disk-0/vm-501-disk-0', true],
    ['share', 'share:500/base-500-disk-0.raw', 'share:500/base-500-disk-0.raw/501/vm-501-disk-0.qcow2', true],
  ])('on %s are named after their base if the storage does so', async (storageId, base, clone, isInUse) => {
    const runtime = storageRuntime();
    const volume = await allocate(runtime, { storageId, format: 'raw' });
    const volid = await runtime.clock.run(() =>
      convertToBase(runtime, { node: NODE, volid: volidOf(volume), log: ignored }),
    );
    expect(volid).toBe(base);
    const made = await runtime.clock.run(() => linkedClone(runtime, { node: NODE, volid, newVmid: 501, log: ignored }));
    expect(volidOf(made)).toBe(clone);
    expect(isBaseInUse(runtime.world, NODE, base)).toBe(isInUse);
    const removal = await refused(runtime, () => freeVolume(runtime, { node: NODE, volid: base, log: ignored }));
    const name = base.slice(base.indexOf(':') + 1);
    expect(removal).toBe(isInUse ? `500 base volume '${name}' is still in use by linked clones` : undefined);
  });

  it('are refused for ordinary volumes and on thick LVM', async () => {
    const runtime = storageRuntime();
    const volume = await allocate(runtime, { storageId: 'thick' });
    const clone = (volid: string) =>
      refused(runtime, () => linkedClone(runtime, { node: NODE, volid, newVmid: 501, log: ignored }));
    expect(await clone(volidOf(volume))).toBe("500 can't clone images in lvm storage");
    expect(await clone('local:100/vm-100-disk-0.raw')).toBe('500 clone_image only works on base images');
  });
});

describe('features', () => {
  it.each([
    ['snapshot', 'local:100/vm-100-disk-0.raw', undefined, false],
    ['snapshot', 'local:100/vm-100-disk-0.qcow2', undefined, true],
    ['clone', 'local:9000/base-9000-disk-0.qcow2', undefined, true],
    ['clone', 'local:100/vm-100-disk-0.qcow2', 'snap', false],
    ['clone', 'thin:vm-100-disk-0', 'snap', true],
    ['clone', 'tank:vm-100-disk-0', 'snap', false],
    ['copy', 'tank:vm-100-disk-0', 'snap', false],
    ['template', 'thick:vm-100-disk-0', undefined, false],
    ['sparseinit', 'thick:vm-100-disk-0', undefined, false],
    ['rename', 'local:9000/base-9000-disk-0.qcow2', undefined, false],
  ] as const)('%s of %s (snapshot %s): %s', (feature, volid, snapshot, expected) => {
    expect(hasFeature(storageRuntime().world, NODE, feature, volid, { snapshot })).toBe(expected);
  });
});

describe('resizing', () => {
  it('rounds like the storage does', async () => {
    const runtime = storageRuntime();
    const volume = await allocate(runtime, { storageId: 'thin' });
    const grown = await runtime.clock.run(() =>
      resizeVolume(runtime, { node: NODE, volid: volidOf(volume), sizeBytes: GIB + 1 }),
    );
    expect(grown).toBe(GIB + 4 * 1024 ** 2);
  });

  it('fails on a base volume, whose file cannot be written', async () => {
    const runtime = storageRuntime();
    const lines: string[] = [];
    const text = await refused(runtime, () =>
      resizeVolume(runtime, {
        node: NODE,
        volid: 'local:9000/base-9000-disk-0.qcow2',
        sizeBytes: 2 * GIB,
        log: (line) => lines.push(line),
      }),
    );
    const path = '/var/lib/vz/images/9000/base-9000-disk-0.qcow2';
    expect(text).toBe(
      `500 command '/usr/bin/qemu-img resize '--preallocation=metadata' -f qcow2 ${path} 2147483648' failed: exit code 1`,
    );
    expect(lines).toEqual([`qemu-img: Could not open '${path}': Could not open '${path}': Operation not permitted`]);
  });
});

describe('snapshots', () => {
  it('are refused for raw files', async () => {
    const runtime = storageRuntime();
    const volid = 'local:100/vm-100-disk-0.raw';
    const text = await refused(runtime, () =>
      snapshotVolume(runtime, { node: NODE, volid, snapshot: 'one', log: ignored }),
    );
    expect(text).toBe("500 can't snapshot this image format");
  });

  it('restore the size that they recorded', async () => {
    const runtime = storageRuntime();
    const volume = await allocate(runtime, { storageId: 'local', format: 'qcow2', sizeKiB: 1024 });
    const at = { node: NODE, volid: volidOf(volume), snapshot: 'one', log: ignored };
    await runtime.clock.run(async () => {
      await snapshotVolume(runtime, at);
      await resizeVolume(runtime, { ...at, sizeBytes: GIB });
      await rollbackVolume(runtime, at);
    });
    expect(volume.sizeBytes).toBe(1024 ** 2);
    await runtime.clock.run(() => deleteVolumeSnapshot(runtime, at));
    expect(await refused(runtime, () => rollbackVolume(runtime, at))).toContain('qemu-img snapshot -a one');
  });

  it('on ZFS can restore only the newest', async () => {
    const runtime = storageRuntime();
    const volid = volidOf(await allocate(runtime, { storageId: 'tank' }));
    for (const snapshot of ['one', 'two']) {
      await runtime.clock.run(() => snapshotVolume(runtime, { node: NODE, volid, snapshot, log: ignored }));
    }
    const blockers: string[] = [];
    const text = await refused(runtime, async () =>
      assertRollbackPossible(runtime.world, NODE, volid, 'one', blockers),
    );
    expect(text).toBe(`500 can't rollback, 'one' is not most recent snapshot on '${volid}'`);
    expect(blockers).toEqual(['two']);
  });
});

describe('giving a volume to another guest', () => {
  it('renames it to the first free disk of that guest', async () => {
    const runtime = storageRuntime();
    const volume = await allocate(runtime, { storageId: 'local', vmid: 237 });
    const volid = await runtime.clock.run(() =>
      renameVolume(runtime, { node: NODE, volid: volidOf(volume), targetVmid: 238, log: ignored }),
    );
    expect(volid).toBe('local:238/vm-238-disk-0.raw');
    expect(findVolume(runtime.world, NODE, volid)?.vmid).toBe(238);
    expect(findVolume(runtime.world, NODE, volidOf(volume))).toBeUndefined();
    expect((await allocate(runtime, { storageId: 'local', vmid: 238 })).name).toBe('238/vm-238-disk-1.raw');
  });
});

describe('freeing', () => {
  it('of a missing file is logged, not refused', async () => {
    const runtime = storageRuntime();
    const lines: string[] = [];
    await runtime.clock.run(() =>
      freeVolume(runtime, { node: NODE, volid: 'local:iso/nosuch.iso', log: (line) => lines.push(line) }),
    );
    expect(lines).toEqual(["disk image '/var/lib/vz/template/iso/nosuch.iso' does not exist"]);
  });

  it('frees the space', async () => {
    const runtime = storageRuntime();
    const storage = addStorage(runtime, 'room', 'lvm', { vgname: 'room' });
    const volume = await allocate(runtime, { storageId: 'room' });
    await runtime.clock.run(() => freeVolume(runtime, { node: NODE, volid: volidOf(volume), log: ignored }));
    expect(storageSpace(runtime.world, storage, NODE)?.usedBytes).toBe(0);
  });
});
