/** Lives of VMs that together take every kind of step, in the fields and combinations that ask for something of their own. */
import type { World, WorldFile } from '../../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../engine/support/lab-world.ts';
import { type Scenario, stackOf } from './bench.ts';
import { SCENARIOS_FROM_BARE } from './scenarios-from-bare.ts';

const apply = (name: string, vms: string) => ({ kind: 'apply' as const, name, stack: stackOf(vms) });
const destroy = (name: string, vms: string) => ({ kind: 'destroy' as const, name, stack: stackOf(vms) });

const CLONED = `  web:
    name: web
    vmid: 401
    node: pve1
    guest: cloud-init
    clone: { template: ubuntu-24.04, storage: nfs, format: qcow2 }
    cpu: { cores: 4 }
    memory: 4GiB
    tags: [blue]
    disks: { scsi0: { size: 20GiB } }
    nics: { net0: { bridge: vmbr1, vlan: 30, ipv4: { address: 10.0.30.11/24 } } }
    cloud_init: { user: ops }
    ready: { agent: true, cloud_init: true }
`;
/** With a spare ID and a spare address. */
const BESIDE = CLONED.replace('vmid: 401', 'vmids: 401-402\n    update: { order: create_first }').replace(
  'address: 10.0.30.11/24',
  'addresses: 10.0.30.11-10.0.30.12/24',
);
const CHANGED = CLONED.replace('cores: 4', 'cores: 6')
  .replace('vlan: 30', 'vlan: 31')
  .replace('size: 20GiB }', 'size: 30GiB }, scsi1: { storage: local-lvm, size: 1GiB }')
  .replace('memory: 4GiB', 'memory: 8GiB\n    restart: when_needed');
const STRONG = CHANGED.replace('    tags:', '    startup: { order: 3 }\n    serial: { serial1: socket }\n    tags:')
  .replace('disks: {', 'disks: { ide0: { iso: false },')
  .replace('scsi1: { storage: local-lvm, size: 1GiB }', 'scsi1: { remove: true }');
const STOPPED = STRONG.replace('    tags:', '    power: stopped\n    tags:');
const MANAGED = STOPPED.replace('    tags:', '    ha: { state: stopped }\n    tags:');

const SAVED = CLONED.replace(
  '    tags:',
  '    snapshot: { when: before_change, keep: 1 }\n    restart: when_needed\n    tags:',
);

const STILL = CLONED.replace('    tags:', '    power: stopped\n    tags:');

const CREATED = `  box:
    name: box
    vmid: 402
    node: pve1
    pool: lab
    tags: [green]
    cpu: { cores: 2 }
    memory: 1GiB
    vga: { type: std }
    bios: ovmf
    machine: q35
    efi: { storage: local-lvm }
    disks:
      scsi0: { storage: nfs, import_from: "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2", size: 10GiB }
      ide0: { iso: "local:iso/debian-13.1.0-amd64-netinst.iso" }
    nics: { net0: { bridge: vmbr0 } }
    cloud_init: { storage: nfs, user: ops }
    boot: [scsi0]
`;

const WITH_DATA = `  db:
    name: db
    node: pve1
    pool: lab
    power: stopped
    clone: { template: ubuntu-24.04, storage: nfs }
    disks: { scsi1: { storage: local-lvm, size: 1GiB, keep: true } }
`;

const MAPPED = `  gpu:
    name: gpu
    vmid: 401
    node: pve1
    machine: q35
    clone: { template: ubuntu-24.04, mode: linked }
    pci: { hostpci0: { mapping: gpu, pcie: true } }
    ready: { exec: [["true"]] }
`;
const BY_ADDRESS = MAPPED.replace('mapping: gpu', 'device: "0000:01:00"');

/** As `qm destroy` does. */
function remove(world: World, vmid: number): void {
  world.vms.delete(vmid);
  for (const { volumes } of world.storages.values()) {
    for (const onNode of volumes.values()) {
      for (const [name, volume] of onNode) if (volume.vmid === vmid) onNode.delete(name);
    }
  }
}

const SCENARIOS_OF_VMS: readonly Scenario[] = [
  {
    name: 'a cloned VM',
    phases: [
      apply('is made', CLONED),
      apply('is changed and restarted', CHANGED),
      apply('gets a disk on another storage', CHANGED.replace('{ storage: local-lvm,', '{ storage: nfs,')),
      apply('is changed in what concerns its host, and loses a disk', STRONG),
      apply('is stopped', STOPPED),
      apply('is given to the HA manager', MANAGED),
      destroy('is destroyed', MANAGED),
    ],
  },
  {
    name: 'a VM with a snapshot before each change',
    phases: [
      apply('is made', SAVED),
      apply('is changed', SAVED.replace('memory: 4GiB', 'memory: 5GiB')),
      apply('is changed again, and the older snapshot goes', SAVED.replace('memory: 4GiB', 'memory: 6GiB')),
    ],
  },
  {
    name: 'a VM on shared storage',
    phases: [apply('is made', STILL), apply('moves to another node', STILL.replace('node: pve1', 'node: pve2'))],
  },
  {
    name: 'a VM whose group is renamed',
    phases: [
      apply('is made', STILL),
      apply('takes its record along', STILL.replace('  web:\n', '  site:\n    formerly: [web]\n')),
    ],
  },
  {
    name: 'a VM that another client removes',
    phases: [
      apply('is made', STILL),
      { ...apply('is forgotten and made again', STILL), outside: (world) => remove(world, 401) },
    ],
  },
  {
    name: 'a VM with a kept disk',
    phases: [
      apply('is made', WITH_DATA),
      { ...apply('is replaced and gets it back', WITH_DATA), options: { replace: ['vm.db'] } },
    ],
  },
  {
    name: 'a VM that is replaced by one beside it',
    phases: [
      apply('is made', BESIDE),
      { ...apply('goes when the new one is ready', BESIDE), options: { replace: ['vm.web'] } },
    ],
  },
  { name: 'a VM created from an image', phases: [apply('is made', CREATED), destroy('is destroyed', CREATED)] },
  {
    name: 'a VM with a mapped device',
    phases: [apply('is made', MAPPED), destroy('is destroyed while it runs', MAPPED)],
  },
  {
    name: 'a VM with a device named by its address',
    world: (file) => ({ ...file, mappings: {} }),
    phases: [apply('is made with its mapping', BY_ADDRESS)],
  },
  {
    name: 'a VM without an id of its own',
    phases: [
      apply('is made', CLONED.replace('    vmid: 401\n', '')),
      {
        kind: 'apply',
        name: 'is replaced',
        stack: stackOf(CLONED.replace('    vmid: 401\n', '')),
        options: { replace: ['vm.web'] },
      },
    ],
  },
];

export const SCENARIOS: readonly Scenario[] = [...SCENARIOS_OF_VMS, ...SCENARIOS_FROM_BARE];

/** A release of the server, with what differs in its world. */
export interface ServerKind {
  readonly name: string;
  readonly world: WorldFile;
}

export const SERVERS: readonly ServerKind[] = [
  { name: 'Proxmox VE 9', world: LAB_WORLD },
  { name: 'Proxmox VE 8', world: { ...LAB_WORLD, version: '8.4' } },
];
