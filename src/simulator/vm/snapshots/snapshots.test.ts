import { describe, expect, it } from 'vitest';
import { guestState } from '../../guests/guest.ts';
import { allocateVolume } from '../../storage/allocate.ts';
import { findVolume, volidOf } from '../../storage/volumes.ts';
import { TestBench } from '../../testing/bench.ts';
import { draftOf, saveConfig } from '../config/config-file.ts';
import { startVm } from '../power/power.ts';
import { rollbackSnapshot } from './rollback.ts';
import { createSnapshot, deleteSnapshot } from './snapshots.ts';
import type { SnapshotJob } from './steps.ts';

async function benchWithDisk(extra: Readonly<Record<string, string>> = {}) {
  const world = new TestBench();
  const { runtime, node } = world;
  const allocate = () =>
    world.clock.run(() =>
      allocateVolume(runtime, {
        node,
        storageId: 'local',
        vmid: 600,
        format: 'qcow2',
        sizeKiB: 4096,
        log: () => {},
      }),
    );
  const disk = await allocate();
  const vm = world.addVm(600, {
    memory: '64',
    kvm: '0',
    scsi0: volidOf(disk),
    vmgenid: '11111111-2222-4333-8444-555555555555',
    ...extra,
  });
  const run = (name: string, work: (job: SnapshotJob) => Promise<void>) =>
    world.task((task) => work({ runtime, node, vmid: 600, name, task }));
  const take = (name: string, withMemory = false) =>
    run(name, (job) => createSnapshot(job, { description: undefined, withMemory }));
  const edit = (changes: Readonly<Record<string, string>>) => {
    const draft = draftOf(vm.config);
    for (const [key, value] of Object.entries(changes)) draft.current.set(key, value);
    saveConfig(vm, draft);
  };
  const start = () => world.task((task) => startVm(runtime, { node, vmid: 600, task }));
  return { world, vm, disk, allocate, run, take, edit, start };
}

describe('taking a snapshot', () => {
  it('marks the VM as locked while the disks are being snapshotted', async () => {
    const { world, vm, run } = await benchWithDisk();
    const { runtime, node } = world;
    const seen = new Set<string | undefined>();
    const upid = runtime.tasks.fork(node, 'qmsnapshot', '600', 'root@pam', (task) =>
      createSnapshot({ runtime, node, vmid: 600, name: 'one', task }, { description: 'first', withMemory: false }),
    );
    await world.clock.run(async () => {
      while (runtime.tasks.isRunning(upid)) {
        seen.add(vm.config.current.get('lock'));
        await world.clock.sleep(1);
      }
    });
    expect([...seen]).toEqual([undefined, 'snapshot']);
    expect(vm.config.current.get('lock')).toBeUndefined();
    expect(vm.config.snapshots.get('one')?.get('description')).toBe('first');
    expect((await run('one', (job) => deleteSnapshot(job, false))).exitStatus).toBe('OK');
    expect(vm.config.snapshots.size).toBe(0);
  });

  it('undoes everything when a disk cannot be snapshotted', async () => {
    const { vm, disk, take } = await benchWithDisk({ scsi1: 'local:600/vm-600-disk-9.qcow2' });
    const record = await take('one');
    expect(record.exitStatus).toBe("volume 'local:600/vm-600-disk-9.qcow2' does not exist");
    expect(record.log).toContain('snapshot create failed: starting cleanup');
    expect(disk.snapshots.size).toBe(0);
    expect(vm.config.snapshots.size).toBe(0);
    expect(vm.config.current.get('lock')).toBeUndefined();
  });

  it('is done by QEMU while the VM runs, and logs why file systems are not frozen', async () => {
    const { take, start, disk } = await benchWithDisk();
    await start();
    expect((await take('live')).log).toEqual([
      'skipping guest filesystem freeze - disabled in VM options',
      `snapshotting 'drive-scsi0' (${volidOf(disk)})`,
      'internal qemu snapshot',
      'TASK OK',
    ]);
  });

  it('saves the memory of a running VM in a separate volume, which is removed with the snapshot', async () => {
    const { world, vm, take, start, run } = await benchWithDisk();
    await start();
    expect((await take('live', true)).log).toContain('completed saving the VM state in 1s, saved 64.00 MiB');
    const state = vm.config.snapshots.get('live')?.get('vmstate') ?? '';
    expect(state).toBe('local:600/vm-600-state-live.raw');
    expect(findVolume(world.runtime.world, world.node, state)?.sizeBytes).toBe((64 * 2 + 500) * 1024 ** 2);
    await run('live', (job) => deleteSnapshot(job, false));
    expect(findVolume(world.runtime.world, world.node, state)).toBeUndefined();
  });

  it('refuses to save memory that cannot be saved', async () => {
    const { take } = await benchWithDisk({ virtiofs0: 'dirid=share' });
    expect((await take('live', true)).exitStatus).toMatch(/snapshot \(with RAM\), or hibernate a VM with: virtiofs$/);
  });
});

describe('deleting a snapshot', () => {
  it('makes its parent the parent of its children', async () => {
    const { vm, take, run } = await benchWithDisk();
    for (const name of ['one', 'two', 'three']) await take(name);
    await run('two', (job) => deleteSnapshot(job, false));
    expect(vm.config.snapshots.get('three')?.get('parent')).toBe('one');
    await run('three', (job) => deleteSnapshot(job, false));
    expect(vm.config.current.get('parent')).toBe('one');
  });

  it('stops at a disk that fails, stays locked, and succeeds with force', async () => {
    const { vm, disk, take, run } = await benchWithDisk();
    await take('one');
    disk.snapshots.delete('one');
    expect((await run('one', (job) => deleteSnapshot(job, false))).exitStatus).toMatch(/qemu-img snapshot -d one/);
    expect(vm.config.current.get('lock')).toBe('snapshot-delete');
    expect(vm.config.snapshots.get('one')?.get('snapstate')).toBe('delete');
    expect((await run('one', (job) => deleteSnapshot(job, true))).exitStatus).toBe('VM is locked (snapshot-delete)');
    const draft = draftOf(vm.config);
    draft.current.delete('lock');
    saveConfig(vm, draft);
    expect((await run('one', (job) => deleteSnapshot(job, true))).exitStatus).toBe('OK');
    expect(vm.config.snapshots.size).toBe(0);
  });
});

describe('rolling back', () => {
  it('stops a running VM, drops pending changes and keeps new disks as unused', async () => {
    const { world, vm, allocate, take, run, edit, start } = await benchWithDisk();
    await take('one');
    const second = await allocate();
    edit({ scsi1: volidOf(second), cores: '4' });
    await start();
    saveConfig(vm, { ...draftOf(vm.config), pending: new Map([['cores', '8']]) });
    expect((await run('one', rollbackSnapshot)).exitStatus).toBe('OK');
    expect(vm.process).toBeUndefined();
    expect(vm.config.pending.size).toBe(0);
    expect(vm.config.current.has('cores')).toBe(false);
    expect(vm.config.current.get('unused0')).toBe(volidOf(second));
    expect(vm.config.current.get('vmgenid')).not.toBe('11111111-2222-4333-8444-555555555555');
    expect(world.runtime.locks.isFree(`flock:${world.node}:600`, 'exclusive')).toBe(true);
  });

  it('to a snapshot with memory restores a running VM, with its guest already booted', async () => {
    const { world, vm, disk, take, run, start } = await benchWithDisk({ boot: 'order=scsi0' });
    disk.guest = findVolume(world.runtime.world, world.node, 'local:9100/base-9100-disk-0.qcow2')?.guest;
    await start();
    await take('live', true);
    const before = vm.process;
    expect((await run('live', rollbackSnapshot)).exitStatus).toBe('OK');
    expect(vm.process).toBeDefined();
    expect(vm.process).not.toBe(before);
    expect(guestState(vm.process, world.clock.now()).booted).toBe(true);
    expect(vm.config.current.has('runningmachine')).toBe(false);
  });

  it('refuses a snapshot that was never finished', async () => {
    const { vm, take, run } = await benchWithDisk();
    await take('one');
    const draft = draftOf(vm.config);
    draft.snapshots.get('one')?.set('snapstate', 'prepare');
    saveConfig(vm, draft);
    expect((await run('one', rollbackSnapshot)).exitStatus).toBe(
      'unable to rollback to incomplete snapshot (snapstate = prepare)',
    );
  });
});
