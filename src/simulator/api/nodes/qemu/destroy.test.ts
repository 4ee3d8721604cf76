import { describe, expect, it } from 'vitest';
import { ConfigBench } from '../../../testing/bench.ts';
import { draftOf, saveConfig } from '../../../vm/config/config-file.ts';

const ROUTE = 'DELETE /nodes/{node}/qemu/{vmid}';
const destroyed = (bench: ConfigBench, params: Record<string, number> = {}) =>
  bench.performed(ROUTE, { vmid: 700, ...params });

describe('destroying a VM', () => {
  it('frees what it references and owns, saved states of snapshots and pending disks included', async () => {
    const bench = new ConfigBench();
    const own = await Promise.all(
      ['disk-0', 'disk-1', 'disk-2', 'state-one', 'cloudinit'].map((part) =>
        bench.disk(700, { name: `vm-700-${part}.raw` }),
      ),
    );
    const [disk = '', unused = '', pending = '', state = '', cloudInit = ''] = own;
    const foreign = await bench.disk(701);
    const unreferenced = await bench.disk(700);
    const vm = bench.addVm(700, {
      scsi0: disk,
      scsi1: foreign,
      unused0: unused,
      ide2: `${cloudInit},media=cdrom`,
      ide3: 'local:iso/blob.iso,media=cdrom',
    });
    const draft = draftOf(vm.config);
    draft.pending.set('virtio1', pending);
    draft.snapshots.set('one', new Map([['vmstate', state]]));
    saveConfig(vm, draft);
    expect(await destroyed(bench)).toEqual(['TASK OK']);
    expect(own.filter((volid) => bench.exists(volid))).toEqual([]);
    expect([foreign, unreferenced, 'local:iso/blob.iso'].every((volid) => bench.exists(volid))).toBe(true);
    expect(bench.runtime.world.vms.has(700)).toBe(false);
  });

  it('also removes unreferenced volumes if requested', async () => {
    const bench = new ConfigBench();
    const unreferenced = await bench.disk(700, { storage: 'local2' });
    bench.addVm(700, {});
    expect(await destroyed(bench, { 'destroy-unreferenced-disks': 1, purge: 1 })).toEqual([
      'purging VM 700 from related configurations..',
      'TASK OK',
    ]);
    expect(bench.exists(unreferenced)).toBe(false);
  });

  it('only warns about a disk on a missing storage', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { scsi0: 'gone:700/vm-700-disk-0.raw' });
    expect(await destroyed(bench)).toEqual([
      "WARN: failed to get path and owner of volume 'gone:700/vm-700-disk-0.raw': storage 'gone' does not exist",
      'TASK WARNINGS: 1',
    ]);
    expect(bench.runtime.world.vms.has(700)).toBe(false);
  });

  it('refuses a protected VM before a running one, and tolerates only the lock of a suspended VM', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0', protection: '1' });
    await bench.start(700);
    await expect(destroyed(bench)).rejects.toThrow("can't remove VM 700 - protection mode enabled");
    await bench.put(700, { protection: 0 });
    await expect(destroyed(bench)).rejects.toThrow('VM 700 is running - destroy failed');

    const locked = new ConfigBench();
    locked.addVm(700, { lock: 'backup' });
    expect(await destroyed(locked)).toEqual(['TASK ERROR: VM is locked (backup)']);
    locked.addVm(700, { lock: 'suspended' });
    expect(await destroyed(locked)).toEqual(['TASK OK']);
    locked.addVm(700, { lock: 'backup' });
    expect(await destroyed(locked, { skiplock: 1 })).toEqual(['TASK OK']);
  });
});
