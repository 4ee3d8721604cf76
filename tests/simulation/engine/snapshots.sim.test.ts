/** Snapshots and rollbacks of the VMs of a stack: by command, before a change, and what neither can do. */
import { beforeAll, describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import type { SnapshotRequest } from '../../../src/kinds/kind.ts';
import { readRecorded } from '../../../src/state/recorded.ts';
import { codesOf, failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene, type Snapshot } from './support/scene.ts';

const stack = (fields: string, storage = 'local-lvm') => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: pve1
    guest: cloud-init
    restart: when_needed
    clone: { template: ubuntu-24.04, storage: ${storage} }
    cloud_init: { storage: local-lvm, user: ops }
    nics: { net0: { ipv4: dhcp } }
${fields
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
`;
const PLAIN = stack('memory: 1GiB');
const create = (name: string, memory = false): SnapshotRequest => ({ kind: 'create', name, memory });
const remove = (name: string): SnapshotRequest => ({ kind: 'delete', name });
const rollback = (name: string, start = true): SnapshotRequest => ({ kind: 'rollback', name, start });

const vmOf = (scene: Scene) => {
  const vm = scene.world.vms.get(420);
  if (!vm) throw new Error('there is no VM 420');
  return vm;
};
const current = (scene: Scene, key: string) => vmOf(scene).config.current.get(key);
const namesIn = (scene: Scene) => [...vmOf(scene).config.snapshots.keys()];
const stepsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.steps.map(({ id }) => id) : [end.kind]);
const changeOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.changes[0] : undefined);
const textOf = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(formatDiagnostic).join('\n') : end.kind);

async function made(text: string): Promise<Snapshot> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  await scene.clock.advance(60_000);
  return scene.snapshot();
}

let plain: Snapshot;
beforeAll(async () => {
  plain = await made(PLAIN);
});

async function withSnapshot(name = 'one', memory = false): Promise<Scene> {
  const scene = new Scene({ from: plain });
  expect(failuresOf(await scene.snapshots(PLAIN, create(name, memory)))).toEqual([]);
  return scene;
}

describe('snapshot create', () => {
  it('takes a snapshot of a running VM that names stack, address and run, and the plan stays empty', async () => {
    const scene = await withSnapshot();
    expect(namesIn(scene)).toEqual(['one']);
    expect(vmOf(scene).config.snapshots.get('one')?.get('description')).toMatch(
      /^proxwright: snapshot=asked stack=lab address=vm\.web run=\d{8}T\d{6}Z-[0-9a-f]+$/,
    );
    expect(vmOf(scene).config.snapshots.get('one')?.has('vmstate')).toBe(false);
    expect(stepsOf(await scene.plan(PLAIN))).toEqual([]);
  });

  it('saves the memory of a running VM on request, and says that a stopped one has none', async () => {
    const scene = await withSnapshot('warm', true);
    expect(vmOf(scene).config.snapshots.get('warm')?.has('vmstate')).toBe(true);
    const off = stack('power: stopped');
    expect(failuresOf(await scene.apply(off))).toEqual([]);
    const cold = await scene.snapshots(off, create('cold', true));
    expect(failuresOf(cold)).toEqual([]);
    expect(changeOf(cold)?.notes).toEqual(['it is stopped: there is no memory to save']);
  });

  it('refuses a name that Proxmox does not accept, before anything is sent', async () => {
    const scene = new Scene({ from: plain });
    for (const name of ['x', '1st', 'a.b', 'current', 'PENDING', 'a'.repeat(41), 'ä1']) {
      expect(codesOf(await scene.snapshots(PLAIN, create(name)))).toEqual(['BAD_VALUE']);
      expect(scene.writes()).toEqual([]);
    }
    expect(failuresOf(await scene.snapshots(PLAIN, create('a'.repeat(40))))).toEqual([]);
  });

  it('refuses a name that is in use', async () => {
    const scene = await withSnapshot();
    const again = await scene.snapshots(PLAIN, create('one'));
    expect(textOf(again)).toContain('vm.web already has a snapshot one. Nothing was changed.');
    expect(textOf(again)).toContain('proxwright snapshot delete one');
  });

  it('refuses a raw file in the words of Proxmox, and names the disk', async () => {
    const raw = stack('disks: { scsi1: { storage: nfs, size: 1GiB, format: raw } }');
    const scene = new Scene({ from: await made(raw) });
    const end = await scene.snapshots(raw, create('one'));
    expect(codesOf(end)).toEqual(['CANNOT_SNAPSHOT']);
    expect(textOf(end)).toMatch(
      /snapshot feature is not available\)\. scsi1 \(nfs:420\/vm-420-disk-\d\.raw\) is a raw file/,
    );
    expect(scene.writes()).toEqual([]);
  });

  it('refuses the memory of a VM with a shared directory or a device of the host, but not its disks', async () => {
    const scene = new Scene({ from: plain });
    (vmOf(scene).config.current as Map<string, string>).set('hostpci0', '0000:01:00.0');
    const end = await scene.snapshots(PLAIN, create('one', true));
    expect(textOf(end)).toContain('QEMU cannot save a PCI device of the host (hostpci0)');
    expect(failuresOf(await scene.snapshots(PLAIN, create('one')))).toEqual([]);
  });

  it('waits for the lock of another client', async () => {
    const scene = new Scene({
      from: plain,
      faults: [{ kind: 'stranger-lock', match: { path: 'qemu/*/snapshot', method: 'POST' }, at: 1 }],
    });
    expect(failuresOf(await scene.snapshots(PLAIN, create('one')))).toEqual([]);
    expect(namesIn(scene)).toEqual(['one']);
  });
});

describe('the simulator', () => {
  it('fails a snapshot with the memory of a PCI device, and cleans up after it', async () => {
    const scene = new Scene({ from: plain });
    const launched = vmOf(scene).process?.launched as Map<string, string>; // the VM runs
    launched.set('hostpci0', '0000:01:00.0');
    const end = await scene.snapshots(PLAIN, create('one', true));
    expect(failuresOf(end).join()).toContain('State blocked by non-migratable device');
    expect(namesIn(scene)).toEqual([]);
    expect(current(scene, 'lock')).toBeUndefined();
  });
});

describe('snapshot delete', () => {
  it('deletes the snapshot and leaves the VM as it is', async () => {
    const scene = await withSnapshot();
    expect(failuresOf(await scene.snapshots(PLAIN, remove('one')))).toEqual([]);
    expect(namesIn(scene)).toEqual([]);
    expect(vmOf(scene).process).toBeDefined();
    expect(stepsOf(await scene.plan(PLAIN))).toEqual([]);
  });

  it('suggests the name that was meant', async () => {
    const scene = await withSnapshot('before');
    expect(textOf(await scene.snapshots(PLAIN, remove('befor')))).toContain('Did you mean "before"?');
  });
});

describe('rollback', () => {
  const GROWN = stack('memory: 2GiB\ndisks: { scsi1: { storage: local-lvm, size: 2GiB } }');

  it('puts the VM back and starts it; plan shows the differences as made outside, and apply ends with an empty plan', async () => {
    const scene = await withSnapshot();
    expect(failuresOf(await scene.apply(GROWN))).toEqual([]);
    const volume = current(scene, 'scsi1')?.split(',')[0] ?? '';
    const end = await scene.snapshots(GROWN, rollback('one'));
    expect(failuresOf(end)).toEqual([]);
    expect(stepsOf(end)).toEqual(['vm.web/rollback', 'vm.web/start', 'vm.web/ready']);
    expect(changeOf(end)?.notes).toContain(
      `scsi1 (${volume}, 2GiB) is not in the snapshot: it is detached, and its volume stays as an unused disk with its data`,
    );
    expect(current(scene, 'memory')).toBe('1024');
    expect(current(scene, 'unused0')).toBe(volume);
    expect(vmOf(scene).process).toBeDefined();
    const plan = await scene.plan(GROWN);
    expect(changeOf(plan)?.reason).toBe('It was changed outside Proxwright since the last apply.');
    expect(changeOf(plan)?.notes?.join()).toContain(`qm set 420 --scsi1 ${volume}`);
    expect(failuresOf(await scene.apply(GROWN))).toEqual([]);
    expect(current(scene, 'memory')).toBe('2048');
    expect(current(scene, 'unused0')).toBe(volume);
    expect(stepsOf(await scene.plan(GROWN))).toEqual([]);
  });

  it('continues from the memory of the snapshot, without a start of ours', async () => {
    const scene = await withSnapshot('warm', true);
    const end = await scene.snapshots(PLAIN, rollback('warm'));
    expect(failuresOf(end)).toEqual([]);
    expect(stepsOf(end)).toEqual(['vm.web/rollback', 'vm.web/ready']);
    expect(vmOf(scene).process).toBeDefined();
    expect(stepsOf(await scene.plan(PLAIN))).toEqual([]);
  });

  it('leaves the VM stopped on request, and the next apply starts it', async () => {
    const scene = await withSnapshot();
    expect(failuresOf(await scene.snapshots(PLAIN, rollback('one', false)))).toEqual([]);
    expect(vmOf(scene).process).toBeUndefined();
    expect(failuresOf(await scene.apply(PLAIN))).toEqual([]);
    expect(vmOf(scene).process).toBeDefined();
    expect(stepsOf(await scene.plan(PLAIN))).toEqual([]);
  });

  it('undoes a change that failed halfway, and the file is planned again as the change that it is', async () => {
    const scene = await withSnapshot();
    const bigger = stack('memory: 2GiB');
    await scene.apply(bigger);
    const written = scene.points.findIndex((point) => point.startsWith('after PUT') && point.endsWith('/config'));
    const other = await withSnapshot();
    other.killAt = written + 1;
    expect((await other.apply(bigger)).kind).toBe('killed');
    expect((await readRecorded(other.store, 'lab')).state.vms['vm.web']?.phase).toBe('incomplete');
    expect(failuresOf(await other.snapshots(bigger, rollback('one')))).toEqual([]);
    expect(current(other, 'memory')).toBe('1024');
    expect(failuresOf(await other.apply(bigger))).toEqual([]);
    expect(stepsOf(await other.plan(bigger))).toEqual([]);
  });

  it('refuses a snapshot that is older than the identity of the VM, with the way to do it by hand', async () => {
    const scene = await withSnapshot();
    const section = vmOf(scene).config.snapshots.get('one') as Map<string, string>;
    section.set('smbios1', 'uuid=11111111-2222-4333-8444-555555555555');
    const end = await scene.snapshots(PLAIN, rollback('one'));
    expect(codesOf(end)).toEqual(['CANNOT_SNAPSHOT']);
    expect(textOf(end)).toContain('qm rollback 420 one');
    expect(textOf(end)).toContain('proxwright import vm.web 420 --accept-identity');
    expect(scene.writes()).toEqual([]);
  });

  it('refuses a snapshot that one of the selected VMs does not have', async () => {
    const scene = await withSnapshot();
    expect(textOf(await scene.snapshots(PLAIN, rollback('two')))).toContain('vm.web has no snapshot "two", but one.');
  });

  it('sends a password again, because nothing shows which one the VM has', async () => {
    const text = PLAIN.replace('user: ops', 'user: ops, password: { env: PASSWORD }');
    const scene = new Scene({ from: await made(text) });
    expect(failuresOf(await scene.snapshots(text, create('one')))).toEqual([]);
    expect(failuresOf(await scene.snapshots(text, rollback('one')))).toEqual([]);
    expect(changeOf(await scene.plan(text))?.differences.map(({ path }) => path)).toEqual(['cloud_init.password']);
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    expect(stepsOf(await scene.plan(text))).toEqual([]);
  });
});

describe('snapshot: before_change', () => {
  const guarded = (memory: string, more = 'snapshot: { keep: 2 }') => stack(`memory: ${memory}\n${more}`);

  it('takes one before each change of a running VM, and deletes only its own beyond the retention, oldest first', async () => {
    const scene = await withSnapshot('mine');
    // Made by another client: the prefix alone does not make it ours.
    (vmOf(scene).config.snapshots as Map<string, Map<string, string>>).set(
      'proxwright-alike',
      new Map(vmOf(scene).config.snapshots.get('mine') ?? []).set('description', 'by hand'),
    );
    for (const memory of ['2GiB', '3GiB', '4GiB']) {
      expect(failuresOf(await scene.apply(guarded(memory)))).toEqual([]);
      expect(stepsOf(await scene.plan(guarded(memory)))).toEqual([]);
    }
    const own = namesIn(scene).filter((name) => /^proxwright-\d/.test(name));
    expect(own).toHaveLength(2);
    expect(own.map((name) => vmOf(scene).config.snapshots.get(name)?.get('memory'))).toEqual(['2048', '3072']);
    expect(namesIn(scene)).toEqual(expect.arrayContaining(['mine', 'proxwright-alike']));
  });

  it('shows the snapshot as the first step, takes it before the change, and none where nothing changes', async () => {
    const scene = new Scene({ from: plain });
    expect(stepsOf(await scene.plan(guarded('1GiB')))).toEqual([]);
    const end = await scene.apply(guarded('2GiB'));
    expect(stepsOf(end).slice(0, 2)).toEqual(['vm.web/snapshot', 'vm.web/configure']);
    const [name = ''] = namesIn(scene);
    expect(vmOf(scene).config.snapshots.get(name)?.get('memory')).toBe('1024');
  });

  it('takes none of a VM that is stopped, replaced or destroyed', async () => {
    const scene = new Scene({ from: plain });
    const replaced = await scene.apply(guarded('1GiB'), { replace: ['vm.web'] });
    expect(stepsOf(replaced).some((id) => id.includes('snapshot'))).toBe(false);
    expect(failuresOf(await scene.apply(guarded('1GiB', 'snapshot: before_change\npower: stopped')))).toEqual([]);
    expect(failuresOf(await scene.apply(guarded('2GiB', 'snapshot: before_change\npower: stopped')))).toEqual([]);
    expect(namesIn(scene)).toEqual([]);
  });

  it('refuses a change where a disk cannot have a snapshot, and nothing else', async () => {
    const raw = (memory: string) =>
      stack(`memory: ${memory}\nsnapshot: before_change\ndisks: { scsi1: { storage: nfs, size: 1GiB, format: raw } }`);
    const scene = new Scene({ from: await made(raw('1GiB')) });
    expect(stepsOf(await scene.plan(raw('1GiB')))).toEqual([]);
    expect(codesOf(await scene.plan(raw('2GiB')))).toEqual(['CANNOT_SNAPSHOT']);
  });

  it('takes none before a disk moves and says why; a disk in a snapshot is neither moved nor removed', async () => {
    const disk = (value: string, more = 'snapshot: before_change') => stack(`${more}\ndisks: { scsi1: ${value} }`);
    const before = disk('{ storage: local-lvm, size: 1GiB }');
    const from = await made(before);
    const moved = disk('{ storage: nfs, size: 1GiB, format: qcow2 }');
    const scene = new Scene({ from });
    expect(changeOf(await scene.plan(moved))?.notes?.join()).toContain('no snapshot is taken before this change');
    expect(failuresOf(await scene.snapshots(before, create('one')))).toEqual([]);
    for (const text of [moved, disk('{ remove: true }', 'snapshot: never')]) {
      const end = await scene.plan(text);
      expect(codesOf(end)).toEqual(['IN_USE']);
      expect(textOf(end)).toContain('proxwright snapshot delete one --only vm.web');
    }
  });
});
