/** The lifecycle of a VM under a real host. Every apply ends with an empty plan. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene, warnings } from './support/scene.ts';

const WEB = {
  name: 'web',
  node: 'pve1',
  vmid: 410,
  guest: 'cloud-init',
  clone: { template: 'ubuntu-24.04' },
  cpu: { cores: 2 },
  memory: '1GiB',
  disks: { scsi0: { size: '4GiB' } },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
  tags: ['web', 'prod'],
};

describe.each(HOSTS)('a VM under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  it('is created, changed in place, grown, replaced where nothing else is possible, and destroyed', async () => {
    await scene.settle(vm('web', WEB));
    const made = (await scene.state()).get('proxwright_vm.web');
    expect(made).toMatchObject({ vmid: 410, status: 'running', current_node: 'pve1' });
    expect(made?.primary_address).toMatch(/^10\.10\.0\.\d+$/);

    // In place, while it runs: nothing waits for a restart.
    const changed = {
      ...WEB,
      name: 'web-1',
      tags: ['web'],
      description: 'Serves pages.',
      nics: { ...WEB.nics, net1: { bridge: 'vmbr1', vlan: 20 } },
      disks: { scsi0: { size: '6GiB' }, scsi1: { size: '1GiB', storage: 'local-lvm' } },
    };
    await scene.write(vm('web', changed));
    expect(await scene.changes()).toEqual([
      {
        address: 'proxwright_vm.web',
        actions: ['update'],
        changed: expect.arrayContaining([
          'name',
          'tags',
          'description',
          'disks.scsi0.size',
          'disks.scsi1',
          'nics.net1',
        ]),
      },
    ]);
    await scene.settle(vm('web', changed));
    const grown = (await scene.state()).get('proxwright_vm.web');
    expect(grown).toMatchObject({ id: made?.id, restart_pending: [] });
    const config = scene.configOf('web-1');
    expect(config.get('scsi0')).toContain('size=6G');
    expect(config.get('scsi1')).toContain('local-lvm:vm-410-disk-');
    expect(config.get('net1')).toContain('bridge=vmbr1,tag=20');
    expect(scene.world.vms.get(410)?.process).toBeDefined();

    // A disk cannot shrink, and the plan says so.
    await scene.write(vm('web', { ...changed, disks: { ...changed.disks, scsi0: { size: '5GiB' } } }));
    expect(problems(await scene.plan())).toEqual([expect.stringContaining('disks can only grow')]);

    // Only a new VM can have another id.
    await scene.write(vm('web', { ...changed, vmid: 411 }));
    const replaced = await scene.plan();
    expect(warnings(replaced).join()).toContain(
      'vmid changes from 410 to 411, and Proxmox cannot change the id of a VM',
    );
    expect(await scene.changes()).toMatchObject([{ actions: ['delete', 'create'], changed: ['vmid'] }]);
    await scene.settle(vm('web', { ...changed, vmid: 411 }));
    expect(scene.ours().map(({ vmid }) => vmid)).toEqual([411]);
    expect(scene.orphans()).toEqual([]);

    expect(problems(await scene.destroy())).toEqual([]);
    expect([scene.ours(), scene.orphans()]).toEqual([[], []]);
  });

  it('is replaced on request under the id it has', async () => {
    await scene.settle(vm('web', WEB));
    const before = (await scene.state()).get('proxwright_vm.web');
    expect(problems(await scene.apply('-replace=proxwright_vm.web'))).toEqual([]);
    const after = (await scene.state()).get('proxwright_vm.web');
    expect(after).toMatchObject({ vmid: 410, status: 'running' });
    expect(after?.id).not.toBe(before?.id);
    expect((await scene.plan()).code).toBe(0);
    expect([scene.ours().length, scene.orphans()]).toEqual([1, []]);
  });

  it('waits for a restart with a note, or is restarted where the configuration says so', async () => {
    await scene.settle(vm('web', WEB));
    await scene.write(vm('web', { ...WEB, memory: '3GiB' }));
    expect(warnings(await scene.plan()).join()).toContain('Some changes take effect after a restart');
    await scene.settle(vm('web', { ...WEB, memory: '3GiB' }));
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({
      restart_pending: ['memory'],
      memory: '3GiB',
    });
    const noted = await scene.plan();
    expect([noted.code, warnings(noted).join()]).toEqual([
      0,
      expect.stringContaining('Takes effect when web is started next: memory.'),
    ]);
    expect(scene.world.vms.get(410)?.process?.launched.get('memory')).toBe('1024');

    const restarted = { ...WEB, memory: '2GiB', restart: 'when_needed' };
    await scene.write(vm('web', restarted));
    expect(warnings(await scene.plan()).join()).toContain('The VM will be restarted');
    await scene.settle(vm('web', restarted));
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({ restart_pending: [], status: 'running' });
    expect(scene.world.vms.get(410)?.process?.launched.get('memory')).toBe('2048');
  });

  it('keeps what the configuration does not mention, and shows it', async () => {
    const { disks: _, nics: __, ...rest } = WEB;
    await scene.settle(vm('web', rest));
    const config = scene.configOf('web');
    expect(config.get('scsi0')).toContain('vm-410-disk-0');
    expect(config.get('net0')).toContain('bridge=vmbr0');
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({
      disks: null,
      nics: null,
      all_disks: { scsi0: { kind: 'disk', storage: 'local-lvm', size: '3584MiB' }, ide2: { kind: 'cloud-init' } },
      all_nics: { net0: { bridge: 'vmbr0', model: 'virtio' } },
    });
    // Another client plugs in a device that the file does not declare: it is left alone.
    await scene.outside.node('pve1').vm(410).config.put({ net3: 'virtio,bridge=vmbr1' });
    expect(await scene.changes()).toEqual([]);
    await scene.settle(vm('web', rest));
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({ all_nics: { net3: { bridge: 'vmbr1' } } });
    expect(scene.configOf('web').get('net3')).toBeDefined();
  });

  it('is moved to another node, found where others moved it, and stopped and started', async () => {
    const small = { ...WEB, clone: { template: 9000, mode: 'full', storage: 'nfs' }, cloud_init: { storage: 'nfs' } };
    await scene.settle(vm('web', small));
    const made = (await scene.state()).get('proxwright_vm.web');
    await scene.settle(vm('web', { ...small, node: 'pve2' }));
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({
      id: made?.id,
      node: 'pve2',
      current_node: 'pve2',
    });
    expect(scene.ours()).toMatchObject([{ vmid: 410, node: 'pve2' }]);

    const moving = await scene.outside.node('pve2').vm(410).migrate({ target: 'pve1', online: true });
    await scene.outside.tasks.wait(moving);
    expect(await scene.changes()).toEqual([]);
    await scene.settle(vm('web', { ...small, node: 'pve2' }));
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({
      id: made?.id,
      node: 'pve2',
      current_node: 'pve1',
    });

    await scene.settle(vm('web', { ...small, node: 'pve2', power: 'stopped' }));
    expect(scene.ours()).toMatchObject([{ vmid: 410, node: 'pve1', running: false }]);
    await scene.settle(vm('web', { ...small, node: 'pve2', power: 'running' }));
    expect(scene.ours()).toMatchObject([{ vmid: 410, running: true }]);
  });

  it('is not destroyed while it is protected, which the plan says', async () => {
    await scene.settle(vm('web', { ...WEB, protection: true }));
    const refused = await scene.plan('-destroy');
    expect(problems(refused)).toEqual([expect.stringMatching(/^error .*protect/i)]);
    await scene.write();
    expect(problems(await scene.apply())).toEqual([expect.stringMatching(/protect/i)]);
    expect(scene.ours().length).toBe(1);
    await scene.settle(vm('web', { ...WEB, protection: false }));
    expect(problems(await scene.destroy())).toEqual([]);
    expect(scene.ours()).toEqual([]);
  });
});
