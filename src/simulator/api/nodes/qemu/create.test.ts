import { describe, expect, it } from 'vitest';
import type { RawParams } from '../../../schema/types.ts';
import { ConfigBench, DEBIAN_DISK } from '../../../testing/bench.ts';

const created = (bench: ConfigBench, params: RawParams, vmid = 700) =>
  bench.performed('POST /nodes/{node}/qemu', { vmid, ...params });

describe('creating a VM', () => {
  it('converts its disks to base volumes if it becomes a template', async () => {
    const bench = new ConfigBench();
    await created(bench, { template: 1, scsi0: 'local:1', ide2: 'local:cloudinit' });
    expect(await bench.config(700)).toMatchObject({
      template: 1,
      scsi0: 'local:700/base-700-disk-0.raw,size=1G',
      ide2: 'local:700/vm-700-cloudinit.qcow2,media=cdrom',
    });
  });

  it('imports a file by its path for root, even if another VM owns it', async () => {
    const bench = new ConfigBench();
    const log = await created(bench, {
      scsi0: 'local2:0,import-from=/var/lib/vz/images/9001/base-9001-disk-0.raw,format=qcow2',
    });
    expect(await bench.config(700)).toMatchObject({ scsi0: 'local2:700/vm-700-disk-0.qcow2,size=1G' });
    expect(log).not.toContainEqual(expect.stringContaining('clone of drive'));
    expect(await created(bench, { scsi0: 'local2:0,import-from=/srv/disk.raw' }, 701)).toEqual([
      "TASK ERROR: unable to create VM 701 - can't find file '/srv/disk.raw'",
    ]);
  });

  it('refuses a disk that names no storage, even with the storage parameter', async () => {
    const bench = new ConfigBench();
    await expect(created(bench, { storage: 'local2', scsi0: '1' })).rejects.toMatchObject({
      status: 400,
      errors: { scsi0: expect.stringContaining("scsi0.file: invalid format - unable to parse volume ID '1'") },
    });
    await created(bench, { storage: 'local2', scsi0: 'local:1' });
    expect(await bench.config(700)).toMatchObject({ scsi0: 'local:700/vm-700-disk-0.raw,size=1G' });
  });

  it('shows the requested size if the storage rounds it up, except for an EFI disk', async () => {
    const bench = new ConfigBench();
    bench.addThinStorage('thin');
    await created(bench, { scsi0: 'thin:0.1', efidisk0: 'thin:1,efitype=4m', tpmstate0: 'thin:1' });
    expect(await bench.config(700)).toMatchObject({
      scsi0: 'thin:vm-700-disk-1,size=104858K',
      efidisk0: 'thin:vm-700-disk-0,efitype=4m,size=4M',
      tpmstate0: 'thin:vm-700-disk-2,size=4M',
    });
  });

  it('fails as a whole: no disk and no configuration is left', async () => {
    const bench = new ConfigBench();
    const log = await created(bench, { scsi0: 'local:1', machine: 'q35,aw-bits=39' });
    expect(log.at(-1)).toBe('TASK ERROR: unable to create VM 700 - cannot set aw-bits if no vIOMMU is configured');
    expect(bench.exists('local:700/vm-700-disk-0.raw')).toBe(false);
    expect(bench.runtime.world.vms.has(700)).toBe(false);
  });

  it('fails when a TPM state or an EFI disk is to be a CD drive', async () => {
    expect(await created(new ConfigBench(), { tpmstate0: 'none' })).toEqual([
      "TASK ERROR: unable to create VM 700 - unable to parse value of 'tpmstate0' - format error " +
        'media: property is not defined in schema and the schema does not allow additional properties',
    ]);
  });

  it('notices a JSON null only when it writes', async () => {
    const log = await created(new ConfigBench(), { cores: null });
    expect(log).toEqual([
      "TASK ERROR: unable to create VM 700 - unable to parse value of 'cores' - got undefined value",
    ]);
  });

  it('stores a password as it is and hides it', async () => {
    const bench = new ConfigBench();
    await created(bench, { cipassword: 'secret' });
    expect(bench.runtime.world.vms.get(700)?.config.current.get('cipassword')).toBe('secret');
    expect((await bench.config(700)).cipassword).toBe('**********');
  });

  it('logs that it is added to HA', async () => {
    expect(await created(new ConfigBench(), { 'ha-managed': 1 })).toEqual(['Add as HA resource', 'TASK OK']);
  });

  it('of an HA resource can only be undone with purge', async () => {
    const bench = new ConfigBench();
    await created(bench, { 'ha-managed': 1 });
    const destroy = (params: RawParams) =>
      bench.performed('DELETE /nodes/{node}/qemu/{vmid}', { vmid: 700, ...params });
    await expect(destroy({})).rejects.toThrow('used in HA resources and purge parameter not set.');
    expect(await destroy({ purge: 1 })).toEqual([
      'purging VM 700 from related configurations..',
      'NOTE: removed VM 700 from HA resource configuration.',
      'TASK OK',
    ]);
  });

  it('starts the VM in a separate task, whose failure does not count', async () => {
    const bench = new ConfigBench();
    expect(await created(bench, { start: 1, kvm: 0, net0: 'virtio,bridge=vmbr9' })).toEqual([
      'Execute autostart',
      'TASK OK',
    ]);
    await bench.clock.run(() => bench.clock.sleep(1000));
    const start = [...bench.runtime.world.tasks.values()].find((task) => task.type === 'qmstart');
    expect(start?.exitStatus).toBe("bridge 'vmbr9' does not exist");
  });

  it('refuses an id that another node uses', async () => {
    const bench = new ConfigBench();
    bench.addVm(700, {}).node = 'pve2';
    await expect(created(bench, {})).rejects.toThrow("unable to create VM 700 - VM 700 already exists on node 'pve2'");
  });
});

describe('import-from', () => {
  it('copies a disk of another VM, and mirrors it if that VM runs', async () => {
    const bench = new ConfigBench();
    const source = await bench.disk(701, { format: 'qcow2' });
    bench.addVm(701, { kvm: '0', scsi0: source });
    const cold = await created(bench, { virtio0: `local:0,import-from=${source},format=raw` });
    expect(cold[0]).toBe(`create full clone of drive scsi0 (${source})`);
    expect(await bench.config(700)).toMatchObject({ virtio0: 'local:700/vm-700-disk-0.raw,size=4M' });
    await bench.start(701);
    const live = await created(bench, { virtio0: `local:0,import-from=${source}` }, 702);
    expect(live.slice(3)).toEqual([
      'drive mirror is starting for drive-scsi0',
      'mirror-scsi0: transferred 4.0 MiB of 4.0 MiB (100.00%) in 0s, ready',
      "all 'mirror' jobs are ready",
      'skipping guest filesystem freeze - disabled in VM options',
      'suspend vm',
      'mirror-scsi0: Cancelling block job',
      'mirror-scsi0: Done.',
      'resume vm',
      "virtio0: successfully created disk 'local:702/vm-702-disk-0.qcow2,size=4M'",
      'TASK OK',
    ]);
  });

  it.each([
    ['a missing volume', 'local:701/vm-701-disk-5.raw', 'could not get size of local:701/vm-701-disk-5.raw'],
    ['a cloud-init drive', 'local:701/vm-701-cloudinit.raw', 'cannot import from cloudinit disk'],
    ['an EFI disk', 'local:701/vm-701-disk-0.raw', 'cloning from/to EFI disk requires EFI disk'],
  ])('refuses %s', async (_, source, reason) => {
    const bench = new ConfigBench();
    await bench.disk(701, { name: 'vm-701-cloudinit.raw' });
    bench.addVm(701, { efidisk0: await bench.disk(701) });
    const log = await created(bench, { scsi0: `local:0,import-from=${source}` });
    expect(log.at(-1)).toBe(`TASK ERROR: unable to create VM 700 - cannot import from '${source}' - ${reason}`);
    expect(bench.runtime.world.vms.has(700)).toBe(false);
  });

  it('refuses a disk of a VM on another node', async () => {
    const bench = new ConfigBench();
    const source = await bench.disk(701);
    bench.addVm(701, { scsi0: source }).node = 'pve2';
    const log = await created(bench, { scsi0: `local:0,import-from=${source}` });
    expect(log.at(-1)).toMatch(/owner VM 701 not on local node$/);
  });

  it('reads a base volume without touching it', async () => {
    const bench = new ConfigBench();
    const [base = ''] = DEBIAN_DISK.split(',');
    await created(bench, { scsi0: `local:0,import-from=${base}` });
    expect(await bench.config(700)).toMatchObject({ scsi0: 'local:700/vm-700-disk-0.qcow2,size=2500M' });
  });
});
