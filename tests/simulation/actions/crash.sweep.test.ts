/**
 * A run is killed at every request, before and after its effect, and at every line of its journal, before and after it is
 * written. The next run settles what was open and does the steps again. Whatever the point: the world is the same as
 * without the kill, nothing was made twice, and no two tasks ever worked on the VM at once.
 */
import { describe, expect, it } from 'vitest';
import { IS_SAMPLE, pointsOf } from '../../support/depth.ts';
import { Bench, CLONE, DISK, desiredEntries, makeVm, NOTES, WEB } from './bench.ts';

const make = (bench: Bench) => makeVm(bench, CLONE);

/** A guest that has not booted neither lets go of a disk nor hears the power button. */
async function makeAndBoot(bench: Bench): Promise<void> {
  await make(bench);
  await bench.clock.sleep(120_000);
}

/** Everything of the VM but what chance decides. */
function picture(bench: Bench): unknown {
  const volumes = [...bench.world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((perNode) =>
      [...perNode.values()].filter(({ vmid }) => vmid === 101).map(({ name, sizeBytes }) => ({ name, sizeBytes })),
    ),
  );
  const config = [...bench.vm().config.current]
    .filter(([key]) => !['smbios1', 'vmgenid', 'meta'].includes(key))
    .map(([key, text]) => [key, text.replace(/virtio=[^,]+|uuid=\S+/g, '…')])
    .sort();
  const { pending, pendingDeletes } = bench.vm().config;
  return { volumes, config, pending: [...pending], pendingDeletes: [...pendingDeletes], runs: !!bench.vm().process };
}

async function uninterrupted(work: (bench: Bench) => Promise<void>, prepare?: (bench: Bench) => Promise<void>) {
  const bench = new Bench();
  if (prepare) await bench.clock.run(() => prepare(bench));
  await bench.mortally(() => work(bench));
  return { points: bench.points, bench };
}

describe('a kill while a VM is made', () => {
  it('is made good by the next run, at any point', async () => {
    const { points, bench: whole } = await uninterrupted(make);
    const expected = picture(whole);
    expect(points).toBeGreaterThan(50);
    for (const killAt of pointsOf(points, 1)) {
      const bench = new Bench();
      bench.killAt = killAt;
      expect(await bench.mortally(() => make(bench)), `point ${killAt}`).toBe(true);
      // Some die long before the next run comes, some just before.
      if (killAt % 3 === 0) await bench.clock.advance(60_000);
      const mac = bench.world.vms.get(101)?.config.current.get('net0')?.slice(0, 24);
      await bench.clock.run(async () => {
        await bench.takeUp();
        await make(bench);
      });
      expect(picture(bench), `point ${killAt}`).toEqual(expected);
      expect(bench.tasks('qmclone'), `point ${killAt}`).toEqual(['OK']);
      expect(bench.tasks('qmconfig'), `point ${killAt}`).toEqual(['OK']);
      expect(bench.tasks('resize'), `point ${killAt}`).toEqual(['OK']);
      if (mac !== undefined) expect(bench.config('net0'), `point ${killAt}`).toContain(mac);
      expect([...bench.world.vms.keys()].filter((vmid) => vmid < 9000)).toEqual([101]);
      expect(bench.records.get(WEB)?.recorded?.phase).toBe('complete');
    }
  });
});

describe('a kill while a VM is destroyed', () => {
  const destroy = (bench: Bench) => bench.step('vm.destroy', { stop: 'stop' });

  it('is made good by the next run, at any point', async () => {
    const { points } = await uninterrupted(destroy, make);
    expect(points).toBeGreaterThan(15);
    for (const killAt of pointsOf(points, 1)) {
      const bench = new Bench();
      await bench.clock.run(() => make(bench));
      bench.killAt = killAt;
      expect(await bench.mortally(() => destroy(bench))).toBe(true);
      if (killAt % 3 === 0) await bench.clock.advance(60_000);
      await bench.clock.run(async () => {
        const outcome = await bench.takeUp();
        if (outcome !== 'gone') await destroy(bench);
      });
      expect(bench.world.vms.has(101), `point ${killAt}`).toBe(false);
      expect(bench.tasks('qmdestroy'), `point ${killAt}`).toEqual(['OK']);
    }
  });
});

interface Story {
  readonly name: string;
  readonly prepare?: (bench: Bench) => Promise<void>;
  readonly work: (bench: Bench) => Promise<void>;
  /** Types of tasks of which there must be exactly one, and it ended well. */
  readonly once: readonly string[];
}

const UPDATE = desiredEntries({
  memory: '4096',
  scsi1: { kind: 'absent' },
  scsi2: DISK,
  tags: 'a;b',
  description: NOTES,
});
const CREATE = {
  node: 'pve1',
  name: 'web',
  vmid: 101,
  desired: desiredEntries({ memory: '1024', scsi0: { ...DISK, set: { ssd: '1' } }, description: NOTES }),
};

const STORIES: readonly Story[] = [
  {
    name: 'created from nothing',
    work: async (bench) => {
      await bench.step('vm.create', CREATE);
      await bench.step('vm.configure', { desired: CREATE.desired });
      await bench.step('vm.verify', { desired: CREATE.desired, applied: {} });
    },
    once: ['qmcreate'],
  },
  {
    name: 'updated in place',
    prepare: makeAndBoot,
    work: async (bench) => {
      await bench.step('vm.configure', { desired: UPDATE });
      await bench.step('vm.resize', { slot: 'scsi0', sizeBytes: 60 * 1024 ** 3 });
      await bench.step('vm.verify', { desired: UPDATE, applied: {} });
    },
    once: ['qmclone'],
  },
  {
    name: 'migrated',
    prepare: async (bench) => {
      await bench.step('vm.clone', CLONE);
      await bench.step('vm.verify', { desired: [], applied: {} });
    },
    work: (bench) => bench.step('vm.migrate', { target: 'pve2' }),
    once: ['qmclone', 'qmigrate'],
  },
];

describe.each(STORIES)('a kill while a VM is $name', ({ prepare, work, once }) => {
  it('is made good by the next run, at any point', async () => {
    const { points, bench: whole } = await uninterrupted(work, prepare);
    for (const killAt of pointsOf(points, 1)) {
      const bench = new Bench();
      if (prepare) await bench.clock.run(() => prepare(bench));
      bench.killAt = killAt;
      expect(await bench.mortally(() => work(bench)), `point ${killAt}`).toBe(true);
      if (killAt % 3 === 0) await bench.clock.advance(60_000);
      await bench.clock.run(async () => {
        await bench.takeUp();
        await work(bench);
      });
      expect(picture(bench), `point ${killAt}`).toEqual(picture(whole));
      for (const type of once) expect(bench.tasks(type), `point ${killAt}`).toEqual(['OK']);
      expect(bench.records.get(WEB)?.recorded?.phase, `point ${killAt}`).toBe('complete');
    }
  });
});

describe('a kill while a VM is restarted', () => {
  it('says between off and on that the VM has to be started', async () => {
    const restart = (bench: Bench) => bench.step('vm.restart', { reasons: ['memory'] });
    const { points } = await uninterrupted(restart, makeAndBoot);
    const outcomes = new Set<string>();
    for (const killAt of pointsOf(points, 1)) {
      const bench = new Bench();
      await bench.clock.run(() => makeAndBoot(bench));
      bench.killAt = killAt;
      await bench.mortally(() => restart(bench));
      const outcome = await bench.clock.run(() => bench.takeUp());
      const runs = bench.vm().process !== undefined;
      expect(outcome === 'interrupted', `point ${killAt}`).toBe(!runs);
      outcomes.add(outcome);
    }
    if (IS_SAMPLE) return;
    expect(outcomes).toContain('interrupted');
    expect(outcomes).toContain('ended');
  });
});
