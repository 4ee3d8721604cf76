/** The cluster of the demo: one node, a VLAN-aware bridge, and a small template whose full clone takes 14 seconds. */
import type { Instant } from '../../../base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../../simulator/index.ts';

export const DEMO_TOKEN = 'root@pam!demo=00000000-0000-4000-8000-00000000000d';
export const DEMO_TEMPLATE = { node: 'pve1', vmid: 9000 } as const;
export const DEMO_CLONE_SECONDS = 14;

/** What the storage copies per second. The template's data is sized so that one clone takes the time above. */
const BANDWIDTH_MIB = 100;
const DATA = `${BANDWIDTH_MIB * DEMO_CLONE_SECONDS}M`;

const WORLD: WorldFile = {
  nodes: {
    pve1: {
      address: '10.20.0.2',
      cpus: 32,
      memory: '128G',
      bridges: { vmbr0: { cidr: '10.20.0.2/24' }, vmbr1: { vlan_aware: true } },
      filesystems: { root: { total: '94G', foreign: '6G' }, data: { total: '2T' } },
    },
  },
  storages: {
    local: { path: '/var/lib/vz', content: ['iso', 'import', 'snippets'] },
    'local-lvm': {
      type: 'lvmthin',
      content: ['images'],
      filesystem: 'data',
      bandwidth: `${BANDWIDTH_MIB}M`,
      options: { vgname: 'pve', thinpool: 'data' },
      volumes: [{ name: 'base-9000-disk-0', size: '3584M', used: DATA, data: DATA, guest: 'ubuntu-agent' }],
    },
  },
  vms: {
    9000: {
      node: 'pve1',
      config: {
        agent: '1',
        boot: 'order=scsi0',
        cores: 2,
        cpu: 'x86-64-v2-AES',
        ide2: 'local-lvm:vm-9000-cloudinit,media=cdrom',
        ipconfig0: 'ip=dhcp',
        memory: '2048',
        meta: 'creation-qemu=10.0.13,ctime=1794768904',
        name: 'ubuntu-24.04',
        net0: 'virtio=BC:24:11:00:90:00,bridge=vmbr0',
        ostype: 'l26',
        scsi0: 'local-lvm:base-9000-disk-0,size=3584M',
        scsihw: 'virtio-scsi-single',
        smbios1: 'uuid=5e0c4a77-7886-477f-ad9d-000000009000',
        template: 1,
        vmgenid: '60bdcd00-1150-4902-9bfa-000000009000',
      },
    },
  },
  users: { 'root@pam': { tokens: { demo: { secret: '00000000-0000-4000-8000-00000000000d', privsep: false } } } },
};

export function demoWorld(now: Instant): World {
  return buildWorld(WORLD, { now, file: 'demo' });
}
