import { describe, expect, it } from 'vitest';
import type { Need, PrivilegeRules } from '../../privileges/need.ts';
import { type ConfigSubject, creationNeeds, inheritedNeeds, writeNeeds } from './config.ts';
import { agentPrivileges } from './steps.ts';

const NEWEST: PrivilegeRules = {
  agent: 'VM.GuestAgent',
  tagsOfNewVms: true,
  cpuModels: 'mapping',
  randomNumbers: true,
};
const OLDEST: PrivilegeRules = { agent: 'VM.Monitor', tagsOfNewVms: false, cpuModels: 'nodes', randomNumbers: false };
const subject = (rules = NEWEST): ConfigSubject => ({ vmid: 101, paths: [{ path: '/vms/101' }], rules });

function shown(needs: readonly Need[]): string[] {
  return [...new Set(needs.map(shownNeed))];
}

function shownNeed(need: Need): string {
  if (need.kind === 'tags') return `tags ${need.tags.join(' ')}`;
  if (need.kind === 'root') return `root ${JSON.stringify(need.cause)}`;
  return `${need.privileges.join('|')} ${need.paths.map(({ path }) => path).join('|')}`;
}

const set = (values: Record<string, string>, before: Record<string, string> = {}, rules = NEWEST) =>
  shown(
    writeNeeds(
      subject(rules),
      { set: values, delete: [], destroysVolumes: false, touchesDrives: false },
      new Map(Object.entries(before)),
    ),
  );
const remove = (key: string, before: string) =>
  shown(
    writeNeeds(
      subject(),
      { set: {}, delete: [key], destroysVolumes: true, touchesDrives: true },
      new Map([[key, before]]),
    ),
  );

describe('writing a key', () => {
  it.each([
    ['cores', '4', ['VM.Config.CPU /vms/101']],
    ['balloon', '0', ['VM.Config.Memory /vms/101']],
    ['vga', 'std', ['VM.Config.HWType /vms/101']],
    ['name', 'web', ['VM.Config.Options /vms/101']],
    ['startup', 'order=1', ['VM.Config.Options /vms/101', 'Sys.Modify /']],
    ['boot', 'order=scsi0', ['VM.Config.Disk /vms/101']],
    ['vmstatestorage', 'local', ['VM.Config.Disk /vms/101', 'Datastore.AllocateSpace /storage/local']],
    ['ciuser', 'ops', ['VM.Config.Cloudinit|VM.Config.Network /vms/101']],
    ['ipconfig0', 'ip=dhcp', ['VM.Config.Cloudinit|VM.Config.Network /vms/101']],
    ['tags', 'a;b', ['VM.Config.Options /vms/101', 'tags a b']],
    ['serial0', 'socket', ['VM.Config.HWType /vms/101']],
    ['serial0', '/dev/ttyS0', ['root {"key":"serial0"}']],
    ['args', '-no-hpet', ['root {"key":"args"}']],
    ['vmgenid', '1', ['root {"key":"vmgenid"}']],
    ['usb0', 'spice', ['VM.Config.HWType /vms/101']],
    ['usb0', 'mapping=key', ['VM.Config.HWType /vms/101', 'Mapping.Use /mapping/usb/key']],
    ['hostpci0', 'mapping=gpu', ['VM.Config.HWType /vms/101', 'Mapping.Use /mapping/pci/gpu']],
    ['hostpci0', '0000:01:00', ['VM.Config.HWType /vms/101', 'root {"key":"hostpci0","part":"host"}']],
    ['rng0', 'source=/dev/hwrng', ['VM.Config.HWType /vms/101', 'Mapping.Use /mapping/hwrng']],
    ['virtiofs0', 'dirid=share', ['VM.Config.Disk /vms/101', 'Mapping.Use /mapping/dir/share']],
    ['cpu', 'custom-mine', ['VM.Config.CPU /vms/101', 'Mapping.Use /mapping/cpu/mine']],
    ['net0', 'virtio', ['VM.Config.Network /vms/101']],
    ['net0', 'virtio,bridge=vmbr0', ['VM.Config.Network /vms/101', 'SDN.Use /sdn/zones/localnetwork/vmbr0']],
    [
      'net0',
      'virtio,bridge=vmbr0,tag=5,trunks=7;9-10',
      ['VM.Config.Network /vms/101', ...[5, 7, 9, 10].map((vlan) => `SDN.Use /sdn/zones/localnetwork/vmbr0/${vlan}`)],
    ],
    ['scsi0', 'local:8', ['VM.Config.Disk /vms/101', 'Datastore.AllocateSpace /storage/local']],
    ['scsi0', 'local-lvm:vm-101-disk-0,ssd=1', ['VM.Config.Disk /vms/101']],
    ['ide2', 'none,media=cdrom', ['VM.Config.CDROM /vms/101']],
    ['ide2', 'cdrom,media=cdrom', ['VM.Config.CDROM /vms/101', 'Sys.Console /']],
    [
      'ide2',
      'nfs:iso/a.iso,media=cdrom',
      ['VM.Config.CDROM /vms/101', 'Datastore.AllocateSpace|Datastore.Audit /storage/nfs'],
    ],
    ['ide2', 'local:cloudinit', ['VM.Config.Cloudinit /vms/101', 'VM.Config.CDROM /vms/101']],
    [
      'scsi0',
      'local:0,import-from=nfs:import/a.qcow2',
      [
        'VM.Config.Disk /vms/101',
        'Datastore.AllocateSpace /storage/local',
        'Datastore.AllocateSpace|Datastore.Audit /storage/nfs',
      ],
    ],
    [
      'scsi0',
      'local:0,import-from=nfs:100/vm-100-disk-0.raw',
      ['VM.Config.Disk /vms/101', 'Datastore.AllocateSpace /storage/local', 'VM.Clone /vms/100'],
    ],
  ])('%s=%s needs %j', (key, text, expected) => {
    expect(set({ [key]: text })).toEqual(expected);
  });

  it('also needs the network that a NIC leaves', () => {
    expect(set({ net0: 'virtio,bridge=vmbr1' }, { net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=5' })).toEqual([
      'VM.Config.Network /vms/101',
      'SDN.Use /sdn/zones/localnetwork/vmbr0/5',
      'SDN.Use /sdn/zones/localnetwork/vmbr1',
    ]);
  });

  it('needs a custom CPU model only when it changes', () => {
    expect(set({ cpu: 'custom-mine,flags=+aes' }, { cpu: 'custom-mine' })).toEqual(['VM.Config.CPU /vms/101']);
  });

  it('follows the rules of an older release', () => {
    expect(set({ cpu: 'custom-mine' }, {}, OLDEST)).toEqual(['VM.Config.CPU /vms/101', 'Sys.Audit /nodes']);
    expect(set({ rng0: 'source=/dev/urandom' }, {}, OLDEST)).toContain('root {"key":"rng0"}');
    expect(agentPrivileges('exec', OLDEST)).toEqual(['VM.Monitor']);
    expect(agentPrivileges('file-read', NEWEST)).toEqual(['VM.GuestAgent.FileRead', 'VM.GuestAgent.Unrestricted']);
  });
});

describe('removing a key', () => {
  it('needs the storage only for volumes of the VM itself', () => {
    expect(remove('scsi1', 'local:101/vm-101-disk-1.qcow2')).toEqual([
      'VM.Config.Disk /vms/101',
      'Datastore.AllocateSpace /storage/local',
    ]);
    expect(remove('scsi1', 'local:100/vm-100-disk-1.qcow2')).toEqual(['VM.Config.Disk /vms/101']);
    expect(remove('ide0', 'nfs:iso/a.iso,media=cdrom')).toEqual([
      'VM.Config.CDROM /vms/101',
      'VM.Config.Disk /vms/101',
    ]);
    expect(remove('net0', 'virtio,bridge=vmbr0')).toEqual([
      'VM.Config.Network /vms/101',
      'SDN.Use /sdn/zones/localnetwork/vmbr0',
    ]);
  });
});

describe('a VM that is created', () => {
  it('needs nothing for the kinds of its drives, and its own path for its tags', () => {
    const inPool: ConfigSubject = { ...subject(), paths: [{ path: '/vms/101' }, { path: '/pool/lab' }] };
    const values = { scsi0: 'local:8', ide2: 'local:cloudinit', ide0: 'none,media=cdrom', tags: 'a', cores: '2' };
    expect(shown(creationNeeds(inPool, values, [{ path: '/vms/101' }]))).toEqual([
      'Datastore.AllocateSpace /storage/local',
      'VM.Config.Options /vms/101',
      'tags a',
      'VM.Config.CPU /vms/101|/pool/lab',
    ]);
    expect(shown(creationNeeds(subject(OLDEST), { tags: 'a' }, [{ path: '/vms/101' }]))).toEqual([]);
  });
});

describe('a VM that is cloned', () => {
  const source = new Map([
    ['scsi0', 'local-lvm:base-9000-disk-0,size=4G'],
    ['ide2', 'nfs:9000/vm-9000-cloudinit.qcow2,media=cdrom'],
    ['ide0', 'iso:iso/a.iso,media=cdrom'],
    ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=5'],
    ['hostpci0', 'mapping=gpu'],
    ['vmstatestorage', 'state'],
  ]);

  it('needs storages, networks and devices of its source', () => {
    expect(shown(inheritedNeeds(source, undefined, NEWEST))).toEqual([
      'Datastore.AllocateSpace /storage/local-lvm',
      'Datastore.AllocateSpace /storage/state',
      'SDN.Use /sdn/zones/localnetwork/vmbr0/5',
      'Mapping.Use /mapping/pci/gpu',
    ]);
  });

  it('needs its target storage instead of those of the source', () => {
    expect(shown(inheritedNeeds(source, 'fast', NEWEST)).slice(0, 2)).toEqual([
      'Datastore.AllocateSpace /storage/fast',
      'Datastore.AllocateSpace /storage/state',
    ]);
  });
});
