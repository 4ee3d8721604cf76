import { describe, expect, it } from 'vitest';
import { allocateVolume } from '../../../storage/allocate.ts';
import { findVolume, volidOf } from '../../../storage/volumes.ts';
import { TestBench } from '../../../testing/bench.ts';
import { startVm } from '../../../vm/power/power.ts';
import type { Vm } from '../../../world/world.ts';

const VM_PATH = '/nodes/{node}/qemu/{vmid}';

class Bench extends TestBench {
  async disk(vmid: number, name?: string): Promise<string> {
    const { runtime, node } = this;
    const input = { node, storageId: 'local', vmid, format: 'qcow2', sizeKiB: 4096, log: () => {} } as const;
    return volidOf(await this.clock.run(() => allocateVolume(runtime, { ...input, ...(name && { name }) })));
  }

  move(params: Readonly<Record<string, string | number>>): Promise<readonly string[]> {
    return this.performed(`POST ${VM_PATH}/move_disk`, { vmid: 600, ...params });
  }

  exists(volid: string): boolean {
    return findVolume(this.runtime.world, this.node, volid) !== undefined;
  }
}

const configured = (vm: Vm, key: string) => vm.config.current.get(key);

describe('moving a disk', () => {
  it('turns the disk of a template into a base volume on its new storage', async () => {
    const bench = new Bench();
    const vm = bench.addVm(600, { template: '1', scsi0: await bench.disk(600) });
    await bench.move({ disk: 'scsi0', storage: 'local2', delete: 1 });
    expect(configured(vm, 'scsi0')).toBe('local2:600/base-600-disk-0.qcow2,size=4M');
  });

  it('deletes the old image of a cloud-init drive instead of keeping it as unused', async () => {
    const bench = new Bench();
    const image = await bench.disk(600, 'vm-600-cloudinit.qcow2');
    const vm = bench.addVm(600, { ide2: `${image},media=cdrom` });
    const log = await bench.move({ disk: 'ide2', storage: 'local2' });
    expect(log).toContain(`found unused cloudinit disk '${image}', removing it`);
    expect(bench.exists(image)).toBe(false);
    expect(configured(vm, 'ide2')).toBe('local2:600/vm-600-cloudinit.qcow2,media=cdrom,size=4M');
    expect(configured(vm, 'unused0')).toBeUndefined();
  });

  it('keeps a source with snapshots, and refuses to delete it', async () => {
    const bench = new Bench();
    const source = await bench.disk(600);
    const vm = bench.addVm(600, { scsi0: source });
    await bench.performed(`POST ${VM_PATH}/snapshot`, { vmid: 600, snapname: 'one' });
    await expect(bench.move({ disk: 'scsi0', storage: 'local2', delete: 1 })).rejects.toThrow(
      "you can't move a disk with snapshots and delete the source",
    );
    expect(await bench.move({ disk: 'scsi0', storage: 'local2' })).toContain(
      'moving disk with snapshots, snapshots will not be moved!',
    );
    expect(configured(vm, 'unused0')).toBe(source);
  });

  it('fails as a whole when the storage is full, leaving nothing behind', async () => {
    const bench = new Bench();
    const source = await bench.disk(600);
    const vm = bench.addVm(600, { scsi0: source });
    const volume = findVolume(bench.runtime.world, bench.node, source);
    if (volume) volume.dataBytes = 200 * 1024 ** 2;
    const log = await bench.move({ disk: 'scsi0', storage: 'tiny' });
    expect(log.at(-1)).toMatch(/^TASK ERROR: storage migration failed: /);
    expect(bench.exists('tiny:600/vm-600-disk-0.qcow2')).toBe(false);
    expect(configured(vm, 'scsi0')).toBe(source);
  });

  it('requires the current digest of the configuration', async () => {
    const bench = new Bench();
    bench.addVm(600, { scsi0: await bench.disk(600) });
    await expect(bench.move({ disk: 'scsi0', storage: 'local2', digest: 'stale' })).rejects.toThrow(
      'detected modified configuration - file changed by other user? Try again.',
    );
  });
});

describe('giving a disk to another VM', () => {
  it('takes it out of the boot order', async () => {
    const bench = new Bench();
    const giver = bench.addVm(600, { boot: 'order=scsi0;net0', scsi0: await bench.disk(600) });
    const taker = bench.addVm(601, { memory: '64' });
    const log = await bench.move({ disk: 'scsi0', 'target-vmid': 601, 'target-disk': 'unused3' });
    expect(log).toContain("removing disk 'scsi0' from boot order config");
    expect(configured(giver, 'boot')).toBe('order=net0');
    expect(configured(taker, 'unused3')).toBe('local:601/vm-601-disk-0.qcow2');
  });

  it('is refused while the source VM runs or a snapshot needs the disk', async () => {
    const bench = new Bench();
    bench.addVm(600, { memory: '64', kvm: '0', scsi0: await bench.disk(600) });
    bench.addVm(601, { memory: '64' });
    await bench.task((task) => startVm(bench.runtime, { node: bench.node, vmid: 600, task }));
    const give = () => bench.move({ disk: 'scsi0', 'target-vmid': 601 });
    await expect(give()).rejects.toThrow('while the source VM is running - detach first');
    await bench.performed(`POST ${VM_PATH}/snapshot`, { vmid: 600, snapname: 'one' });
    await expect(give()).rejects.toThrow("Can't move disk used by a snapshot to another VM");
  });
});

describe('resizing', () => {
  it('prints nothing while the VM runs, and records the requested size', async () => {
    const bench = new Bench();
    const vm = bench.addVm(600, { memory: '64', kvm: '0', scsi0: await bench.disk(600) });
    await bench.task((task) => startVm(bench.runtime, { node: bench.node, vmid: 600, task }));
    const log = await bench.performed(`PUT ${VM_PATH}/resize`, { vmid: 600, disk: 'scsi0', size: '+1.5M' });
    expect(log).toEqual(['TASK OK']);
    expect(configured(vm, 'scsi0')).toMatch(/,size=5632K$/);
  });
});
