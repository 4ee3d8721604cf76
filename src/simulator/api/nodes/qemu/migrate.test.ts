import { describe, expect, it } from 'vitest';
import { wakeHa } from '../../../ha/rounds.ts';
import type { RawParams } from '../../../schema/types.ts';
import { volumesOf } from '../../../storage/catalogue.ts';
import { DEBIAN_DISK, TestBench } from '../../../testing/bench.ts';
import { startVm } from '../../../vm/power/power.ts';
import type { SimNode } from '../../../world/world.ts';

const PATH = '/nodes/{node}/qemu/{vmid}/migrate';

function twoNodes() {
  const bench = new TestBench();
  const { world } = bench.runtime;
  const first = world.nodes.get('pve1') as SimNode;
  world.nodes.set('pve2', { ...first, name: 'pve2', address: '10.99.0.2' });
  const run = (method: string, params: RawParams) => bench.ask(`${method} ${PATH}`, params);
  const migrate = async (params: RawParams) => {
    const upid = String(await run('POST', params));
    await bench.clock.run(() => bench.runtime.tasks.ended(upid));
    return world.tasks.get(upid);
  };
  return { bench, world, run, migrate };
}

describe('migrating a VM', () => {
  it('takes its local disks along and moves the configuration', async () => {
    const { world, run, migrate } = twoNodes();
    expect(await run('GET', { vmid: 100 })).toMatchObject({ allowed_nodes: ['pve2'], running: 0 });
    const record = await migrate({ vmid: 100, target: 'pve2' });
    expect(record?.exitStatus).toBe('OK');
    const vm = world.vms.get(100);
    expect(vm?.node).toBe('pve2');
    expect(vm?.config.current.has('lock')).toBe(false);
    const local = world.storages.get('local');
    if (!local) throw new Error('no storage');
    expect(volumesOf(local, 'pve2').has('100/vm-100-disk-0.raw')).toBe(true);
    expect(volumesOf(local, 'pve1').has('100/vm-100-disk-0.raw')).toBe(false);
  });

  it('locks the VM meanwhile', async () => {
    const { bench, world } = twoNodes();
    await bench.ask(`POST ${PATH}`, { vmid: 100, target: 'pve2' });
    await bench.clock.advance(50);
    expect(world.vms.get(100)?.config.current.get('lock')).toBe('migrate');
  });

  it('refuses a template whose disks others are based on, and leaves it as it was', async () => {
    const { bench, world, migrate } = twoNodes();
    const vm = bench.addVm(500, {
      memory: '64',
      kvm: '0',
      scsi0: 'local:9100/base-9100-disk-0.qcow2/500/vm-500-disk-0.qcow2',
    });
    const local = world.storages.get('local');
    const base = local && volumesOf(local, 'pve1').get('9100/base-9100-disk-0.qcow2');
    if (!local || !base) throw new Error('no base');
    const name = '9100/base-9100-disk-0.qcow2/500/vm-500-disk-0.qcow2';
    volumesOf(local, 'pve1').set(name, { ...base, name, vmid: 500, parent: base.name });
    const record = await migrate({ vmid: 500, target: 'pve2' });
    expect(record?.exitStatus).toBe('migration aborted');
    expect(record?.log.join('\n')).toContain("as it's a clone of");
    expect(vm.node).toBe('pve1');
    expect(vm.config.current.has('lock')).toBe(false);
  });

  it('keeps a running VM running, if it may', async () => {
    const { bench, migrate } = twoNodes();
    const vm = bench.addVm(500, { memory: '64', kvm: '0' });
    await bench.task((task) => startVm(bench.runtime, { node: 'pve1', vmid: 500, task }));
    await expect(migrate({ vmid: 500, target: 'pve2' })).rejects.toThrow("can't migrate running VM without --online\n");
    expect((await migrate({ vmid: 500, target: 'pve2', online: 1 }))?.exitStatus).toBe('OK');
    expect(vm.node).toBe('pve2');
    expect(vm.process?.qmpStatus).toBe('running');
  });

  it.each([
    ['serial1', '/dev/ttyS0', "can't migrate VM which uses local devices: serial1"],
    ['usb0', 'host=1-2', "can't migrate VM which uses local devices: usb0"],
    ['ivshmem', 'size=32', "can't migrate VM which uses local devices: ivshmem"],
    ['hostpci0', 'mapping=gpu', "can't migrate to 'pve2': missing mapped devices hostpci0"],
    ['virtiofs0', 'nowhere', "can't migrate to 'pve2': missing mapped devices virtiofs0"],
  ])('aborts if a device ties the VM to its node: %s', async (key, value, words) => {
    const { bench, migrate } = twoNodes();
    const vm = bench.addVm(500, { memory: '64', [key]: value });
    const record = await migrate({ vmid: 500, target: 'pve2' });
    expect(record?.exitStatus).toBe('migration aborted');
    expect(record?.log.join('\n')).toContain(words);
    expect(vm.node).toBe('pve1');
    expect(vm.config.current.has('lock')).toBe(false);
  });

  it.each([
    ['amd-sev', 'type=std', "can't migrate VM which uses local devices: amd-sev"],
    ['virtiofs0', 'dirid=media', "can't migrate VM which uses local devices: virtiofs"],
    ['usb0', 'mapping=stick', "can't live migrate running VM which uses following mapped devices: usb0:stick"],
    ['hostpci0', 'mapping=card', 'OK'],
  ])('moves only a stopped VM if its memory or a device cannot move: %s', async (key, value, words) => {
    const { bench, world, migrate } = twoNodes();
    const vm = bench.addVm(500, { memory: '64', kvm: '0' });
    const map = ['pve1', 'pve2'].map((node) => `node=${node},path=/srv/media`);
    const mapping = (id: string, options = new Map<string, string>()) => ({ id, map, options });
    world.mappings.dir.set('media', mapping('media'));
    world.mappings.usb.set('stick', mapping('stick'));
    world.mappings.pci.set('card', mapping('card', new Map([['live-migration-capable', '1']])));
    await bench.task((task) => startVm(bench.runtime, { node: 'pve1', vmid: 500, task }));
    (vm.config.current as Map<string, string>).set(key, value); // what an administrator set, in effect
    const record = await migrate({ vmid: 500, target: 'pve2', online: 1 });
    expect([record?.exitStatus, ...(record?.log ?? [])].join('\n')).toContain(words);
    if (words === 'OK') return;
    vm.process = undefined;
    expect((await migrate({ vmid: 500, target: 'pve2' }))?.exitStatus).toBe('OK');
  });

  it('copies the disks of a running VM only on request', async () => {
    const { bench, migrate } = twoNodes();
    bench.addVm(500, { memory: '64', kvm: '0', scsi0: DEBIAN_DISK });
    await bench.task((task) => startVm(bench.runtime, { node: 'pve1', vmid: 500, task }));
    const record = await migrate({ vmid: 500, target: 'pve2', online: 1 });
    expect(record?.exitStatus).toBe('migration aborted');
    expect(record?.log.join('\n')).toContain('without with-local-disks option');
    expect((await migrate({ vmid: 500, target: 'pve2', online: 1, 'with-local-disks': 1 }))?.exitStatus).toBe('OK');
  });

  it('files a request for a VM under HA, which the manager executes without its local disks', async () => {
    const { bench, world, migrate } = twoNodes();
    bench.addVm(500, { memory: '64', kvm: '0' });
    bench.addVm(501, { memory: '64', kvm: '0', scsi0: DEBIAN_DISK });
    for (const vmid of [500, 501]) world.ha.resources.set(`vm:${vmid}`, new Map());
    wakeHa(bench.runtime);
    await bench.clock.advance(40_000);
    for (const vmid of [500, 501]) {
      const filed = await migrate({ vmid, target: 'pve2', online: 1, 'with-local-disks': 1 });
      expect(filed).toMatchObject({ type: 'hamigrate', exitStatus: 'OK' });
      expect(world.vms.get(vmid)?.node).toBe('pve1');
    }
    await bench.clock.advance(60_000);
    expect([500, 501].map((vmid) => world.vms.get(vmid)?.node)).toEqual(['pve2', 'pve1']);
    expect([500, 501].map((vmid) => world.ha.services.get(`vm:${vmid}`)?.state)).toEqual(['started', 'started']);
    expect(world.vms.get(500)?.process).toBeDefined();
  });
});
