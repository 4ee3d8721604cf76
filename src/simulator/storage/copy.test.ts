import { describe, expect, it } from 'vitest';
import type { Task } from '../core/tasks.ts';
import { asyncRefusalOf } from '../testing/access.ts';
import { addStorage, ignored, NODE, type StorageRuntime, storageRuntime } from '../testing/storage.ts';
import type { Volume } from '../world/world.ts';
import { allocateVolume } from './allocate.ts';
import { addVolume } from './catalogue.ts';
import { copyVolume } from './copy.ts';
import { storageSpace } from './space.ts';
import { findVolume, storageConfig } from './volumes.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Two fast directories and a source with 500 MiB of data in 1 GiB, as the recorded templates have. */
function scene(bandwidthBytesPerSecond = 100 * MIB): StorageRuntime {
  const runtime = storageRuntime();
  for (const id of ['one', 'two']) {
    const storage = addStorage(runtime, id, 'dir', {});
    runtime.world.storages.set(id, { ...storage, bandwidthBytesPerSecond });
  }
  addVolume(storageConfig(runtime.world, 'one'), NODE, {
    storage: 'one',
    name: '9001/base-9001-disk-0.raw',
    content: 'images',
    format: 'raw',
    sizeBytes: GIB,
    usedBytes: 500 * MIB,
    dataBytes: 500 * MIB,
    vmid: 9001,
    ctime: 0,
    parent: undefined,
    snapshots: new Map(),
    guest: undefined,
  });
  return runtime;
}

function source(runtime: StorageRuntime): Volume {
  const volume = findVolume(runtime.world, NODE, 'one:9001/base-9001-disk-0.raw');
  if (!volume) throw new Error('no source');
  return volume;
}

const target = (runtime: StorageRuntime, storageId: string, vmid: number) =>
  allocateVolume(runtime, { node: NODE, storageId, vmid, format: 'raw', sizeKiB: GIB / 1024, log: ignored });

/** Milliseconds a copy takes once its target exists. */
async function copyMs(
  runtime: StorageRuntime,
  volume: Volume,
  options: { bwlimitKiB?: number; log?: (line: string) => void; task?: Task } = {},
): Promise<number> {
  const start = runtime.clock.now();
  const { task, log = ignored, ...limits } = options;
  await copyVolume(runtime, { node: NODE, source: source(runtime), target: volume, task, log, ...limits });
  return runtime.clock.now() - start;
}

describe('a full copy', () => {
  it('takes the time that its data needs at the speed of the storage', async () => {
    const runtime = scene();
    const ms = await runtime.clock.run(async () => copyMs(runtime, await target(runtime, 'two', 100)));
    expect(ms).toBeGreaterThanOrEqual(5000);
    expect(ms).toBeLessThan(5100);
  });

  it('fills its target by whole bytes, however odd its speed', async () => {
    const runtime = scene(33_333_337);
    const seen = new Set<number>();
    await runtime.clock.run(async () => {
      const volume = await target(runtime, 'two', 100);
      const copying = copyMs(runtime, volume);
      for (let sample = 0; sample < 100; sample++) {
        seen.add(volume.usedBytes);
        await runtime.clock.sleep(97);
      }
      await copying;
    });
    expect(seen.size).toBeGreaterThan(10);
    expect([...seen].filter((bytes) => !Number.isInteger(bytes))).toEqual([]);
  });

  it('respects its own limit, which counts data and not the size of the disk', async () => {
    const runtime = scene();
    const ms = await runtime.clock.run(async () =>
      copyMs(runtime, await target(runtime, 'two', 100), { bwlimitKiB: 25_000 }),
    );
    expect(Math.round(ms / 1000)).toBe(21);
  });

  it('prints the recorded progress: 86 lines for 500 MiB in 1 GiB', async () => {
    const runtime = scene();
    const lines: string[] = [];
    await runtime.clock.run(async () =>
      copyMs(runtime, await target(runtime, 'two', 100), { log: (line) => lines.push(line) }),
    );
    expect(lines).toHaveLength(86);
    expect(lines.slice(0, 3)).toEqual([
      'transferred 0.0 B of 1.0 GiB (0.00%)',
      'transferred 12.3 MiB of 1.0 GiB (1.20%)',
      'transferred 24.6 MiB of 1.0 GiB (2.40%)',
    ]);
    expect(lines.slice(-3)).toEqual([
      'transferred 1019.9 MiB of 1.0 GiB (99.60%)',
      'transferred 1.0 GiB of 1.0 GiB (100.00%)',
      'transferred 1.0 GiB of 1.0 GiB (100.00%)',
    ]);
  });

  it('leaves the data, its used space and the guest in the target', async () => {
    const runtime = scene();
    const volume = await runtime.clock.run(async () => {
      const made = await target(runtime, 'two', 100);
      await copyMs(runtime, made);
      return made;
    });
    expect(volume).toMatchObject({ dataBytes: 500 * MIB, usedBytes: 500 * MIB });
    expect(storageSpace(runtime.world, storageConfig(runtime.world, 'two'), NODE)?.usedBytes).toBe(500 * MIB);
  });
});

describe('copies at the same time', () => {
  it('run at half speed each', async () => {
    const runtime = scene();
    const times = await runtime.clock.run(async () => {
      const targets = [await target(runtime, 'two', 100), await target(runtime, 'two', 101)];
      return Promise.all(targets.map((each) => copyMs(runtime, each)));
    });
    for (const ms of times) expect(Math.round(ms / 100)).toBe(100);
  });

  it('get faster when another one ends', async () => {
    const runtime = scene();
    const [first, second] = await runtime.clock.run(async () => {
      const targets = [await target(runtime, 'two', 100), await target(runtime, 'two', 101)] as const;
      const late = async () => {
        await runtime.clock.sleep(2500);
        return copyMs(runtime, targets[1]);
      };
      return Promise.all([copyMs(runtime, targets[0]), late()]);
    });
    // Alone for 2.5 s, together until the first has its 500 MiB at 7.5 s, then the second alone for its last 2.5 s.
    expect(Math.round(first / 100)).toBe(75);
    expect(Math.round(second / 100)).toBe(75);
  });

  it('use the bandwidth that a limited one leaves', async () => {
    const runtime = scene();
    const [limited, free] = await runtime.clock.run(async () => {
      const targets = [await target(runtime, 'two', 100), await target(runtime, 'two', 101)] as const;
      return Promise.all([copyMs(runtime, targets[0], { bwlimitKiB: 20 * 1024 }), copyMs(runtime, targets[1])]);
    });
    expect(Math.round(limited / 1000)).toBe(25);
    expect(Math.round(free / 100)).toBe(63);
  });
});

describe('a copy that fails', () => {
  it('says which command was interrupted when its task is stopped', async () => {
    const runtime = scene();
    const stopped = await runtime.clock.run(async () => {
      const volume = await target(runtime, 'two', 100);
      const upid = runtime.tasks.fork(NODE, 'qmclone', '9001', 'root@pam', async (task) => {
        await copyMs(runtime, volume, { bwlimitKiB: 20_000, task, log: task.log });
      });
      await runtime.clock.sleep(1500);
      const asked = runtime.clock.now();
      await runtime.tasks.stop(upid);
      return { record: runtime.world.tasks.get(upid), ms: runtime.clock.now() - asked };
    });
    expect(stopped.ms).toBeLessThan(100);
    expect(stopped.record?.exitStatus).toBe(
      "copy failed: command '/usr/bin/qemu-img convert -p -n -r 20000K -f raw -O raw " +
        "/srv/one/images/9001/base-9001-disk-0.raw zeroinit:/srv/two/images/100/vm-100-disk-0.raw' failed: " +
        'interrupted by signal',
    );
    expect(stopped.record?.log.at(-2)).toBe('transferred 86.0 MiB of 1.0 GiB (8.40%)');
  });

  it('names the byte at which space ran out, with the progress as recorded', async () => {
    const runtime = scene();
    addStorage(runtime, 'small', 'dir', {}, 64 * MIB);
    const lines: string[] = [];
    const refusal = await runtime.clock.run(async () => {
      const volume = await target(runtime, 'small', 310);
      return asyncRefusalOf(() => copyMs(runtime, volume, { log: (line) => lines.push(line) }));
    });
    expect(lines.at(-1)).toBe('qemu-img: error while writing at byte 67108864: No space left on device');
    expect(lines.at(-2)).toBe('transferred 159.7 MiB of 1.0 GiB (15.60%)');
    expect(refusal).toBe(
      "500 copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw " +
        "/srv/one/images/9001/base-9001-disk-0.raw zeroinit:/srv/small/images/310/vm-310-disk-0.raw' failed: exit code 1",
    );
  });

  it('refuses a target that is smaller than the source', async () => {
    const runtime = scene();
    const lines: string[] = [];
    const refusal = await runtime.clock.run(async () => {
      const place = { node: NODE, storageId: 'two', vmid: 100, format: 'raw', log: ignored } as const;
      const volume = await allocateVolume(runtime, { ...place, sizeKiB: 4096 });
      return asyncRefusalOf(() => copyMs(runtime, volume, { log: (line) => lines.push(line) }));
    });
    expect(lines).toEqual(['transferred 0.0 B of 4.0 MiB (0.00%)', 'qemu-img: output file is smaller than input file']);
    expect(refusal).toBe(
      "500 copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw " +
        "/srv/one/images/9001/base-9001-disk-0.raw zeroinit:/srv/two/images/100/vm-100-disk-0.raw' failed: exit code 1",
    );
  });

  it('runs out of space when two fill a storage that could hold either', async () => {
    const runtime = scene();
    addStorage(runtime, 'small', 'dir', {}, 700 * MIB);
    const refusals = await runtime.clock.run(async () => {
      const targets = [await target(runtime, 'small', 100), await target(runtime, 'small', 101)];
      return Promise.all(targets.map((each) => asyncRefusalOf(() => copyMs(runtime, each))));
    });
    expect(refusals.every((text) => text?.endsWith('failed: exit code 1'))).toBe(true);
  });

  it('does not run out of space if the whole disk was reserved', async () => {
    const runtime = scene();
    addStorage(runtime, 'tight', 'lvm', { vgname: 'tight' }, GIB);
    await runtime.clock.run(async () => copyMs(runtime, await target(runtime, 'tight', 100)));
    expect(storageSpace(runtime.world, storageConfig(runtime.world, 'tight'), NODE)?.availableBytes).toBe(0);
  });
});
