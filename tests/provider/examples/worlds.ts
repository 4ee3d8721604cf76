/** The clusters that the Terraform examples are written for. */
import { buildWorld, type World, type WorldFile } from '../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../src/simulator/world/default-world.ts';

type Build = (options: { readonly now: number }) => World;
type Config = Readonly<Record<string, string | number>>;

const { users } = DEFAULT_WORLD;

/** What a template has without being configured: 2 cores and 2 GiB. */
function template(vmid: number, config: Config): Config {
  const digits = String(vmid).padStart(12, '0');
  return {
    cores: 2,
    memory: '2048',
    ostype: 'l26',
    scsihw: 'virtio-scsi-single',
    smbios1: `uuid=5e0c4a77-7886-477f-ad9d-${digits}`,
    template: 1,
    ...config,
  };
}

/** One host, `vmhost`, with the storage `tank`, a Talos template with the id 9000 and a GPU. */
const TALOS_HOST: WorldFile = {
  nodes: {
    vmhost: {
      address: '10.0.20.2',
      cpus: 32,
      memory: '256G',
      bridges: { vmbr0: { cidr: '10.0.20.2/24', vlan_aware: true } },
      filesystems: { root: { total: '94G', foreign: '6G' }, tank: { total: '8T' } },
      pci: [
        {
          id: '0000:01:00.0',
          vendor: '0x10de',
          device: '0x2204',
          subsystem_vendor: '0x1458',
          subsystem_device: '0x403b',
          iommu_group: 14,
        },
      ],
    },
  },
  storages: {
    local: { path: '/var/lib/vz', content: ['iso', 'import'], volumes: [{ name: 'iso/talos.iso', size: '305M' }] },
    tank: {
      type: 'zfspool',
      content: ['images'],
      filesystem: 'tank',
      options: { pool: 'tank' },
      volumes: [{ name: 'base-9000-disk-0', size: '20G', used: '300M', data: '300M', guest: 'talos' }],
    },
  },
  vms: {
    9000: {
      config: template(9000, {
        name: 'talos-v1.12.4-base',
        boot: 'order=scsi0',
        ide2: 'tank:vm-9000-cloudinit,media=cdrom',
        net0: 'virtio=BC:24:11:00:90:00,bridge=vmbr0',
        scsi0: 'tank:base-9000-disk-0,size=20G',
      }),
    },
  },
  ...(users && { users }),
};

/** One host with the storage `ssd`, which holds files, a UEFI template `ubuntu` and a DHCP server on `vmbr1`. */
const UBUNTU_HOST: WorldFile = {
  nodes: {
    pve1: {
      address: '10.10.0.11',
      cpus: 64,
      memory: '512G',
      bridges: {
        vmbr0: { cidr: '10.10.0.11/24' },
        vmbr1: { dhcp: { first: '192.168.7.50', last: '192.168.7.149', prefix: 24 } },
      },
      filesystems: { root: { total: '94G', foreign: '6G' }, ssd: { total: '8T' } },
    },
  },
  storages: {
    ssd: {
      path: '/mnt/ssd',
      content: ['images'],
      filesystem: 'ssd',
      volumes: [
        { name: '9000/base-9000-disk-0.qcow2', size: '528K' },
        { name: '9000/base-9000-disk-1.qcow2', size: '3584M', used: '1400M', data: '1400M', guest: 'ubuntu-agent' },
      ],
    },
  },
  vms: {
    9000: {
      config: template(9000, {
        name: 'ubuntu',
        bios: 'ovmf',
        boot: 'order=scsi0',
        efidisk0: 'ssd:9000/base-9000-disk-0.qcow2,efitype=4m,pre-enrolled-keys=1,size=528K',
        ide2: 'ssd:9000/vm-9000-cloudinit.qcow2,media=cdrom',
        net0: 'virtio=BC:24:11:00:90:00,bridge=vmbr0',
        scsi0: 'ssd:9000/base-9000-disk-1.qcow2,size=3584M',
      }),
    },
  },
  ...(users && { users }),
};

export const talosHost: Build = ({ now }) => buildWorld(TALOS_HOST, { now, file: 'talos host' });
export const ubuntuHost: Build = ({ now }) => buildWorld(UBUNTU_HOST, { now, file: 'ubuntu host' });
/** The rancher example says that it runs on the cluster of `proxwright sim`. */
export const documentedCluster: Build = ({ now }) => buildWorld(DEFAULT_WORLD, { now, file: 'default' });
