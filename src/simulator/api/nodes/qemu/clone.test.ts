import { describe, expect, it } from 'vitest';
import type { RawParams } from '../../../schema/types.ts';
import { ConfigBench } from '../../../testing/bench.ts';
import { draftOf, saveConfig } from '../../../vm/config/config-file.ts';

const cloned = (bench: ConfigBench, params: RawParams = {}) =>
  bench.performed('POST /nodes/{node}/qemu/{vmid}/clone', { vmid: 700, newid: 710, ...params });

describe('a clone', () => {
  it('copies the keys, but neither unused disks nor traces of snapshots, and gets its own identity', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {
      name: 'web',
      cores: '2',
      parent: 'one',
      unused0: await bench.disk(700),
      net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=4',
      smbios1: 'uuid=00000000-0000-0000-0000-000000000000,serial=x',
      vmgenid: '0',
      ide2: 'none,media=cdrom',
      description: 'old',
    });
    await cloned(bench, { description: '0' });
    const { net0, smbios1, ...config } = await bench.config(710);
    expect(config).toEqual({
      name: 'Copy-of-VM-web',
      cores: 2,
      vmgenid: '0',
      ide2: 'none,media=cdrom',
      description: 'old',
    });
    expect(net0).toMatch(/^virtio=BC:24:11:(?!00:00:01)[0-9A-F:]{8},bridge=vmbr0,tag=4$/);
    expect(smbios1).toMatch(/^serial=x,uuid=(?!00000000)/);
  });

  it('drops pending changes with a line in the log', async () => {
    const bench = new ConfigBench();
    const vm = bench.addVm(700, { cores: '1', sockets: '1' });
    const draft = draftOf(vm.config);
    draft.pending.set('cores', '4');
    draft.pendingDeletes.set('sockets', false);
    saveConfig(vm, draft);
    expect(await cloned(bench)).toContain("found pending changes for 'cores,delete', discarding for clone");
    expect(await bench.config(710)).toMatchObject({ cores: 1, sockets: 1 });
    expect(await bench.pending(710)).toEqual([]);
  });

  it('mirrors the disks of a running VM and completes the mirrors together', async () => {
    const bench = new ConfigBench();
    const [first, second] = [await bench.disk(700), await bench.disk(700)];
    bench.addVm(700, { kvm: '0', scsi0: first, virtio1: second, agent: '1' });
    await bench.start(700);
    const log = await cloned(bench, { storage: 'local2', format: 'qcow2', bwlimit: 1000 });
    expect(log.filter((line) => !/^(Formatting|create|creating|allocated)/.test(line))).toEqual([
      'drive mirror is starting for drive-scsi0 with bandwidth limit: 1000 KiB/s',
      'mirror-scsi0: transferred 4.0 MiB of 4.0 MiB (100.00%) in 0s, ready',
      "all 'mirror' jobs are ready",
      'drive mirror is starting for drive-virtio1 with bandwidth limit: 1000 KiB/s',
      'mirror-virtio1: transferred 4.0 MiB of 4.0 MiB (100.00%) in 0s, ready',
      "all 'mirror' jobs are ready",
      'skipping guest filesystem freeze - agent configured but not running?',
      'suspend vm',
      'mirror-scsi0: Cancelling block job',
      'mirror-virtio1: Cancelling block job',
      'mirror-scsi0: Done.',
      'mirror-virtio1: Done.',
      'resume vm',
      'TASK OK',
    ]);
    expect(await bench.config(710)).toMatchObject({ scsi0: 'local2:710/vm-710-disk-0.qcow2,size=4M' });
  });

  it('takes as long as its data needs, and ends cleanly when it is interrupted', async () => {
    const bench = new ConfigBench();
    const volid = await bench.disk(700, { format: 'qcow2' });
    const volume = bench.runtime.world.storages.get('local')?.volumes.get('pve1')?.get(volid.slice('local:'.length));
    if (volume) volume.dataBytes = 4 * 1024 ** 2;
    bench.addVm(700, { kvm: '0', scsi0: volid });
    await bench.start(700);
    const slow = await cloned(bench, { bwlimit: 1024 });
    expect(slow.filter((line) => line.includes('transferred')).map((line) => line.replace(/^.*\(/, '('))).toEqual([
      '(0.00%) in 0s',
      '(25.00%) in 1s',
      '(50.00%) in 2s',
      '(75.00%) in 3s',
      '(100.00%) in 4s, ready',
    ]);
    const params = { vmid: 700, newid: 711, bwlimit: 1024 };
    const upid = String(await bench.ask('POST /nodes/{node}/qemu/{vmid}/clone', params));
    await bench.clock.run(() => bench.clock.sleep(2500));
    await bench.clock.run(() => bench.runtime.tasks.stop(upid));
    expect(bench.runtime.world.tasks.get(upid)?.log.slice(-3)).toEqual([
      'mirror-scsi0: Cancelling block job',
      'mirror-scsi0: Done.',
      'TASK ERROR: clone failed: block job (mirror) error: received interrupt',
    ]);
    expect(bench.exists('local:711/vm-711-disk-0.qcow2')).toBe(false);
  });

  it('refuses the TPM state of a running VM, but not that of a stopped one', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { kvm: '0', tpmstate0: `${await bench.disk(700)},version=v2.0` });
    await cloned(bench);
    expect(await bench.config(710)).toMatchObject({ tpmstate0: 'local:710/vm-710-disk-0.raw,size=4M,version=v2.0' });
    await bench.start(700);
    await expect(cloned(bench, { newid: 711 })).rejects.toThrow('cannot clone TPM state while VM is running');
  });

  it('checks all volumes before it copies the first', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, { scsi0: await bench.disk(700), scsi1: 'local:700/vm-700-disk-9.raw' });
    expect(await cloned(bench)).toEqual([
      'creating a clone of VM 700 with ID 710',
      "TASK ERROR: clone failed: volume 'local:700/vm-700-disk-9.raw' does not exist",
    ]);
    expect(bench.runtime.world.vms.has(710)).toBe(false);
  });

  it('copies cloud-init and TPM state even in a linked clone', async () => {
    const bench = new ConfigBench();
    const [base, tpm] = [await bench.disk(700, { name: 'base-700-disk-0.raw' }), await bench.disk(700)];
    const image = await bench.disk(700, { name: 'vm-700-cloudinit.qcow2', format: 'qcow2' });
    bench.addVm(700, { template: '1', scsi0: base, tpmstate0: tpm, ide2: `${image},media=cdrom` });
    const log = await cloned(bench);
    expect(log.filter((line) => line.startsWith('create '))).toEqual([
      `create full clone of drive ide2 (${image})`,
      `create linked clone of drive scsi0 (${base})`,
      `create full clone of drive tpmstate0 (${tpm})`,
    ]);
    expect(await bench.config(710)).toMatchObject({
      ide2: 'local:710/vm-710-cloudinit.qcow2,media=cdrom,size=4M',
      scsi0: 'local:700/base-700-disk-0.raw/710/vm-710-disk-0.qcow2,size=4M',
    });
    expect(await bench.config(710)).not.toHaveProperty('template');
  });

  it('says which format it uses if the requested one is not supported', async () => {
    const bench = new ConfigBench();
    bench.addThinStorage('thin');
    bench.addVm(700, { scsi0: await bench.disk(700) });
    expect(await cloned(bench, { format: 'qcow2', storage: 'thin' })).toContain(
      "format 'qcow2' is not supported by the target storage 'thin' - using 'raw' instead",
    );
    expect(await bench.config(710)).toMatchObject({ scsi0: 'thin:vm-710-disk-0,size=4M' });
  });

  it('notices an id that another node uses only when it writes', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {});
    bench.addVm(710, {}).node = 'pve2';
    expect((await cloned(bench)).at(-1)).toMatch(/close \(rename\) atomic file .* failed: File exists$/);
  });
});
