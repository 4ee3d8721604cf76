import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { addressOf, vmAddress } from '../../src/base/address.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { readVm } from '../../src/kinds/vm/observed.ts';
import { shortLineage } from '../../src/kinds/vm/ownership.ts';
import { fieldsOfVm } from '../../src/kinds/vm/take-over/fields.ts';
import { BY_HAND, StackScene, stackOf, WEB } from './support/stack-scene.ts';

const MINIMAL = stackOf(`
vms:
  web: { name: web, node: pve1, memory: 4GiB, clone: { template: 9000 }, boot: [scsi0, net0], power: stopped }
`);

/** An entry of a mapping, as the node describes the card. */
const DEVICE = 'id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00.0,subsystem-id=1458:403b';

async function scene(vmid = 150): Promise<StackScene> {
  const made = new StackScene();
  await made.run(() => made.makeByHand(vmid));
  return made;
}

describe('importing a VM', () => {
  it('makes the next plan empty where the file is true of it, and writes nothing but the ownership line', async () => {
    const lab = await scene();
    const before = new Map(lab.config(150));
    await lab.run(async () => {
      const result = await lab.import(MINIMAL, 150);
      expect(result).toMatchObject({ inFile: true, differences: [], vm: { vmid: 150, phase: 'complete' } });
      expect(isEmpty(await lab.plan(MINIMAL))).toBe(true);
    });
    const uuid = /uuid=([^,]+)/.exec(before.get('smbios1') ?? '')?.[1];
    const { lineage = '' } = await lab.state();
    const line = `proxwright: stack=lab address=vm.web vmid=150 uuid=${uuid} lineage=${shortLineage(lineage)}`;
    before.set('description', `Made by hand.\n\n${line}`);
    expect(Object.fromEntries(lab.config(150))).toEqual(Object.fromEntries(before));
    const { vms } = await lab.state();
    expect(vms[WEB]).toMatchObject({ vmid: 150, uuid, node: 'pve1', name: 'web', lastApplied: { memory: '4GiB' } });
    expect(vms[WEB]?.macs.net0).toMatch(/^([0-9A-F]{2}:){5}[0-9A-F]{2}$/);
  });

  it('is refused for the address of a template or an image, and reads and writes nothing', async () => {
    const lab = await scene();
    await lab.run(async () => {
      for (const kind of ['template', 'image'] as const) {
        const address = addressOf(kind, 'base');
        await expect(lab.import(MINIMAL, 150, { address })).rejects.toMatchObject({ code: 'BAD_VALUE' });
      }
    });
    expect((await lab.state()).vms).toEqual({});
    expect(lab.config(150).get('description')).not.toContain('proxwright:');
  });

  it('shows what the file says differently, and the plan then holds exactly that', async () => {
    const lab = await scene();
    const other = stackOf(`
vms:
  web: { name: web, node: pve1, memory: 8GiB, cpu: { cores: 4 }, clone: { template: 9000 }, power: stopped }
`);
    await lab.run(async () => {
      const { differences } = await lab.import(other, 150);
      expect(differences.map(({ path, before, after }) => ({ path, before, after }))).toEqual([
        { path: 'memory', before: '4GiB', after: '8GiB' },
      ]);
      const plan = await lab.plan(other);
      expect(plan.changes.map(({ kind, differences: shown }) => [kind, shown.map(({ path }) => path)])).toEqual([
        ['update', ['memory']],
      ]);
    });
  });

  it('gives stack lines that, pasted into the file, give an empty plan', async () => {
    const lab = await scene();
    await lab.run(async () => {
      const { found, inFile } = await lab.import(stackOf('vms: {}'), 150);
      expect(inFile).toBe(false);
      expect(found.leftOut).toEqual([]);
      expect(found.written).toMatchObject({
        name: 'web',
        vmid: 150,
        node: 'pve1',
        cpu: { cores: 4 },
        memory: '4GiB',
        tags: ['prod', 'web'],
        description: 'Made by hand.',
        on_boot: true,
        agent: { enabled: true },
        boot: ['scsi0', 'net0'],
        disks: { scsi0: { size: '8GiB', storage: 'local-lvm', discard: true, io_thread: true } },
        nics: {
          net0: {
            model: 'virtio',
            bridge: 'vmbr1',
            vlan: 30,
            firewall: true,
            ipv4: { address: '10.0.30.5/24', gateway: '10.0.30.1' },
          },
        },
        cloud_init: { storage: 'local-lvm', slot: 'ide2' },
        local_time: true,
        power: 'stopped',
      });
      const pasted = stackOf(stringify({ vms: { web: found.written } }));
      expect(isEmpty(await lab.plan(pasted))).toBe(true);
    });
  });

  it('includes the HA settings of the VM in its lines, with one request', async () => {
    const lab = await scene();
    await lab.run(async () => {
      await lab.pve.tasks.wait(await lab.pve.node('pve1').vm(150).status.start());
      await lab.pve.cluster.ha.create(150, { max_restart: 4, comment: 'kept alive' });
      lab.requests.length = 0;
      const { found } = await lab.import(stackOf('vms: {}'), 150);
      expect(lab.requests.filter((line) => line.includes('/cluster/ha/'))).toHaveLength(1);
      expect(found.leftOut).toEqual([]);
      expect(found.written.ha).toEqual({ state: 'started', max_restart: 4, max_relocate: 1, comment: 'kept alive' });
      expect(isEmpty(await lab.plan(stackOf(stringify({ vms: { web: found.written } }))))).toBe(true);
    });
  });

  it('compares what the file says of HA, and undoes a default that is not true of the VM', async () => {
    const lab = await scene();
    const file = stackOf(`
vms:
  web: { name: web, node: pve1, clone: { template: 9000 }, power: stopped, ha: { state: stopped } }
`);
    const read = (written: object) =>
      stackOf(`defaults: { ha: { state: stopped } }\n${stringify({ vms: { web: written } })}`);
    await lab.run(async () => {
      const { differences } = await lab.import(file, 150);
      expect(differences.map(({ path, before, after }) => [path, before, after])).toEqual([
        ['ha.state', null, 'stopped'],
      ]);
      const readLines = async (written: object) => read(written);
      const { found } = await lab.import(stackOf('vms: {}'), 150, { readLines });
      expect(found.written.ha).toBeNull();
      expect(isEmpty(await lab.plan(read(found.written)))).toBe(true);
    });
  });

  it('knows a device by its address, whether the VM has it through a mapping or, by root, as it is', async () => {
    const lab = new StackScene();
    const file = (vmid: number) =>
      stackOf(`
vms:
  web: { name: web, vmid: ${vmid}, node: pve1, clone: { template: 9000 }, power: stopped, pci: { hostpci0: { device: '0000:01:00.0' } } }
`);
    await lab.run(async () => {
      await lab.pve.cluster.mapping.createPci({ id: 'by-hand', map: [DEVICE] });
      await lab.makeByHand(150, { ...BY_HAND, hostpci0: 'mapping=by-hand' });
      expect((await lab.import(file(150), 150)).differences).toEqual([]);
      expect(isEmpty(await lab.plan(file(150)))).toBe(true);
      await lab.makeByHand(151, BY_HAND);
      lab.edit(151, 'hostpci0', 'host=0000:01:00.0');
      await lab.store.remove('state.json');
      expect((await lab.import(file(151), 151)).differences).toEqual([]);
      expect(isEmpty(await lab.plan(file(151)))).toBe(true);
      await lab.store.remove('state.json');
      const { found } = await lab.import(stackOf('vms: {}'), 151);
      expect(found.written.pci).toEqual({ hostpci0: { device: '0000:01:00.0' } });
      expect(isEmpty(await lab.plan(stackOf(stringify({ vms: { web: found.written } }))))).toBe(true);
    });
  });

  it('gives lines that hold in a file with defaults, by undoing those that are not true of the VM', async () => {
    const lab = await scene();
    const around =
      'defaults: { on_boot: false, balloon: 1GiB, cpu: { type: host }, nics: { net1: { bridge: vmbr0 } } }';
    const read = (written: object) => stackOf(`${around}\n${stringify({ vms: { web: written } })}`);
    await lab.run(async () => {
      const { found } = await lab.import(stackOf('vms: {}'), 150, {
        readLines: async (written) => read(written),
      });
      expect(found.written).toMatchObject({ on_boot: true, balloon: null, cpu: { cores: 4, type: null } });
      expect(found.written).toMatchObject({ nics: { net0: { vlan: 30 }, net1: null } });
      expect(isEmpty(await lab.plan(read(found.written)))).toBe(true);
    });
  });

  it('imports a running VM of unknown origin, and reports a wrong node and power state in the file', async () => {
    const lab = await scene();
    const file = stackOf(`
vms:
  web: { name: web, node: pve2, memory: 4GiB, disks: { scsi0: { storage: local-lvm, size: 8GiB } } }
`);
    await lab.run(async () => {
      const { remarks } = await lab.import(file, 150);
      expect(remarks).toEqual([
        'The VM is on pve1 and stays there, but the file says pve2. Set node: pve1, or migrate the VM.',
        'The VM stays stopped, but the file says power: running. Set power: stopped, or start the VM.',
      ]);
      expect(isEmpty(await lab.plan(file))).toBe(true);
      await lab.pve.tasks.wait(await lab.pve.node('pve1').vm(150).status.start());
      const { found, remarks: now } = await lab.import(stackOf('vms: {}'), 150);
      expect(found.written).not.toHaveProperty('power');
      expect(now).toEqual([]);
      expect(isEmpty(await lab.plan(stackOf(stringify({ vms: { web: found.written } }))))).toBe(true);
    });
  });

  it('knows the addresses that a cloud-init drive gives it', async () => {
    const lab = await scene();
    const { vm } = await lab.run(() => lab.import(MINIMAL, 150));
    expect(vm.addresses).toEqual({ net0: ['10.0.30.5'] });
  });

  it('leaves out what the file cannot express', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.makeByHand(151, { name: 'odd', memory: 512, cipassword: 'hidden', ide2: 'local-lvm:cloudinit' });
      const { written, leftOut } = fieldsOfVm(await readVm(lab.pve, 'pve1', 151));
      expect(leftOut).toEqual(['cloud_init.password: it cannot be read back']);
      expect(JSON.stringify(written)).not.toContain('password');
    });
  });

  it('refuses a VM that another address or another stack owns', async () => {
    const lab = await scene();
    await lab.run(async () => {
      await lab.import(MINIMAL, 150);
      await expect(lab.import(MINIMAL, 150, { address: vmAddress('db') })).rejects.toMatchObject({
        code: 'VMID_TAKEN',
        diagnostic: { detail: 'VM 150 belongs to vm.web of this stack.' },
      });
      const elsewhere = { ...MINIMAL, name: 'prod' };
      await lab.store.remove('state.json');
      await expect(lab.import(MINIMAL, 150, { address: vmAddress('db') })).rejects.toMatchObject({
        code: 'STATE_LOST',
        hint: { text: expect.stringContaining('proxwright state recover') },
      });
      await expect(lab.import(elsewhere, 150)).rejects.toMatchObject({
        code: 'NOT_OURS',
        diagnostic: {
          detail:
            'VM 150 belongs to vm.web of the stack "lab", according to the ownership line in its notes. Proxwright leaves it alone.',
        },
      });
      expect((await lab.state('prod')).vms).toEqual({});
    });
  });

  it('refuses a template, a VM that is not there, and a second VM for one address', async () => {
    const lab = await scene();
    await lab.run(async () => {
      await expect(lab.import(MINIMAL, 9000)).rejects.toMatchObject({ code: 'BAD_VALUE' });
      await expect(lab.import(MINIMAL, 777)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await lab.import(MINIMAL, 150);
      await lab.makeByHand(152, { ...BY_HAND, name: 'second' });
      await expect(lab.import(MINIMAL, 152)).rejects.toMatchObject({ code: 'VMID_TAKEN' });
      expect((await lab.state()).vms[WEB]?.vmid).toBe(150);
    });
  });

  it('records nothing if the ownership line could not be written', async () => {
    const lab = await scene();
    lab.lockVm(150, 'backup');
    await lab.run(async () => {
      await expect(lab.import(MINIMAL, 150)).rejects.toMatchObject({ code: 'STALE_LOCK' });
      expect((await lab.state()).vms).toEqual({});
      lab.lockVm(150, undefined);
      await lab.import(MINIMAL, 150);
      expect(isEmpty(await lab.plan(MINIMAL))).toBe(true);
    });
  });

  it('refuses a VM that Proxmox has not finished creating, and names the commands', async () => {
    const lab = await scene();
    lab.lockVm(150, 'clone');
    await lab.run(async () => {
      const refused = lab.import(MINIMAL, 150);
      await expect(refused).rejects.toMatchObject({ code: 'STALE_LOCK' });
      await expect(refused).rejects.toThrow('qm unlock 150 && qm destroy 150 --purge');
    });
    expect(lab.requests.filter((line) => line.startsWith('PUT'))).toEqual([]);
  });

  it('imports a VM with another uuid only with --accept-identity', async () => {
    const lab = await scene();
    await lab.run(async () => {
      await lab.import(MINIMAL, 150);
      const uuid = 'aaaaaaaa-1111-4222-8333-444444444444';
      await lab.pve
        .node('pve1')
        .vm(150)
        .config.put({ smbios1: `uuid=${uuid}` });
      await expect(lab.import(MINIMAL, 150)).rejects.toMatchObject({ code: 'NOT_OURS' });
      await lab.import(MINIMAL, 150, { acceptIdentity: true });
      expect((await lab.state()).vms[WEB]?.uuid).toBe(uuid);
      expect(isEmpty(await lab.plan(MINIMAL))).toBe(true);
    });
  });
});
