/**
 * The default world of `proxwright sim`: a cluster of two nodes with what most users have (local and shared storage,
 * two bridges, templates on both nodes, a GPU), and documented credentials.
 */
import type { WorldFile } from './world-file.ts';

const ADMIN_TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';
const NO_RIGHTS_TOKEN_SECRET = '00000000-0000-4000-8000-000000000002';
const DEPLOY_TOKEN_SECRET = '00000000-0000-4000-8000-000000000003';

/** What the stacks of this project need, and nothing more. */
const DEPLOY_PRIVILEGES = [
  'Datastore.AllocateSpace',
  'Datastore.AllocateTemplate',
  'Datastore.Audit',
  'Mapping.Use',
  'Pool.Audit',
  'SDN.Use',
  'Sys.Audit',
  'VM.Allocate',
  'VM.Audit',
  'VM.Clone',
  'VM.Config.CDROM',
  'VM.Config.CPU',
  'VM.Config.Cloudinit',
  'VM.Config.Disk',
  'VM.Config.HWType',
  'VM.Config.Memory',
  'VM.Config.Network',
  'VM.Config.Options',
  'VM.GuestAgent.Audit',
  // For releases before 9.0, later ones ignore it; its successors are above.
  'VM.Monitor',
  'VM.PowerMgmt',
];

type NodeFile = WorldFile['nodes'][string];
type VmFile = NonNullable<WorldFile['vms']>[string];

function node(number: 1 | 2, pci: NodeFile['pci'] = []): NodeFile {
  const firstLease = number === 1 ? 50 : 150;
  return {
    // A loopback address: other tools open SSH to the address that the API reports, and must stay on this machine.
    address: `127.10.0.1${number}`,
    cpus: 16,
    memory: '64G',
    uptime: 12 * 86_400,
    bridges: {
      vmbr0: {
        cidr: `127.10.0.1${number}/24`,
        dhcp: { first: `10.10.0.${firstLease}`, last: `10.10.0.${firstLease + 99}`, prefix: 24 },
      },
      vmbr1: { vlan_aware: true },
    },
    filesystems: {
      root: { total: '94G', foreign: '6G' },
      data: { total: '816G' },
      // A share is counted on the node that serves the API.
      ...(number === 1 && { nfs: { total: '4T', foreign: '300G' } }),
    },
    pci,
  };
}

/** A card that can be passed through. */
export const GPU = {
  id: '0000:01:00.0',
  class: '0x030000',
  vendor: '0x10de',
  device: '0x2204',
  vendor_name: 'NVIDIA Corporation',
  device_name: 'GA102 [GeForce RTX 3090]',
  subsystem_vendor: '0x1458',
  subsystem_device: '0x403b',
  iommu_group: 14,
};

const GPU_AUDIO = {
  ...GPU,
  id: '0000:01:00.1',
  class: '0x040300',
  device: '0x1aef',
  device_name: 'GA102 High Definition Audio',
};

interface TemplateFacts {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly size: string;
  readonly config: Readonly<Record<string, string | number>>;
}

/** Ids, MAC addresses and UUIDs follow from the VM's id, so that every start of the simulator shows the same ones. */
function template({ vmid, node: nodeName, name, size, config }: TemplateFacts): VmFile {
  const digits = String(vmid).padStart(12, '0');
  return {
    node: nodeName,
    config: {
      boot: 'order=scsi0',
      cores: 2,
      cpu: 'x86-64-v2-AES',
      ide2: `local-lvm:vm-${vmid}-cloudinit,media=cdrom`,
      ipconfig0: 'ip=dhcp',
      memory: '2048',
      meta: 'creation-qemu=10.0.13,ctime=1794768904',
      name,
      net0: `virtio=BC:24:11:00:${digits.slice(-4, -2)}:${digits.slice(-2)},bridge=vmbr0`,
      ostype: 'l26',
      scsi0: `local-lvm:base-${vmid}-disk-0,size=${size}`,
      scsihw: 'virtio-scsi-single',
      smbios1: `uuid=5e0c4a77-7886-477f-ad9d-${digits}`,
      template: 1,
      vmgenid: `60bdcd00-1150-4902-9bfa-${digits}`,
      ...config,
    },
  };
}

const UBUNTU = {
  name: 'ubuntu-24.04',
  size: '3584M',
  config: { agent: '1', ciuser: 'ubuntu', serial0: 'socket', vga: 'serial0', tags: 'template;ubuntu' },
};
const TALOS = { name: 'talos-v1.12.4-base', size: '4G', config: { serial0: 'socket', tags: 'talos;template' } };

const templateDisk = (vmid: number, nodeName: string, size: string, data: string, guest: string) => ({
  name: `base-${vmid}-disk-0`,
  node: nodeName,
  size,
  used: data,
  data,
  guest,
});

export const DEFAULT_WORLD: WorldFile = {
  cluster: 'lab',
  nodes: { pve1: node(1, [GPU, GPU_AUDIO]), pve2: node(2) },
  storages: {
    local: {
      path: '/var/lib/vz',
      content: ['iso', 'vztmpl', 'backup', 'snippets', 'import'],
      volumes: [
        { name: 'iso/debian-13.1.0-amd64-netinst.iso', node: 'pve1', size: '784M' },
        {
          name: 'import/ubuntu-24.04-server-cloudimg-amd64.qcow2',
          node: 'pve1',
          size: '597M',
          virtual_size: '3584M',
          guest: 'ubuntu-cloud',
        },
      ],
    },
    'local-lvm': {
      type: 'lvmthin',
      content: ['images', 'rootdir'],
      filesystem: 'data',
      options: { vgname: 'pve', thinpool: 'data' },
      volumes: [
        templateDisk(9000, 'pve1', UBUNTU.size, '1400M', 'ubuntu-agent'),
        templateDisk(9001, 'pve1', TALOS.size, '300M', 'talos'),
        templateDisk(9010, 'pve2', UBUNTU.size, '1400M', 'ubuntu-agent'),
        templateDisk(9011, 'pve2', TALOS.size, '300M', 'talos'),
      ],
    },
    nfs: {
      type: 'nfs',
      content: ['images', 'iso', 'snippets', 'import', 'backup'],
      filesystem: 'nfs',
      bandwidth: '110M',
      options: { server: '10.10.0.5', export: '/srv/proxmox' },
      volumes: [{ name: 'iso/talos-v1.12.4-metal-amd64.iso', size: '305M', guest: 'talos-installer' }],
    },
  },
  vms: {
    9000: template({ vmid: 9000, node: 'pve1', ...UBUNTU }),
    9001: template({ vmid: 9001, node: 'pve1', ...TALOS }),
    // On local storage a template is per node.
    9010: template({ vmid: 9010, node: 'pve2', ...UBUNTU }),
    9011: template({ vmid: 9011, node: 'pve2', ...TALOS }),
  },
  users: {
    'root@pam': {
      password: 'proxwright',
      tokens: { admin: { secret: ADMIN_TOKEN_SECRET, privsep: false, comment: 'May do everything a token may.' } },
    },
    'guest@pve': { tokens: { none: { secret: NO_RIGHTS_TOKEN_SECRET, comment: 'May log in and nothing else.' } } },
    'deploy@pve': {
      password: 'proxwright',
      tokens: { ci: { secret: DEPLOY_TOKEN_SECRET, privsep: false, comment: 'Has the role of a deployment.' } },
    },
  },
  roles: { Deploy: DEPLOY_PRIVILEGES },
  acl: [{ path: '/', role: 'Deploy', user: 'deploy@pve' }],
  pools: { lab: { comment: 'Virtual machines of the lab' } },
  mappings: {
    pci: { gpu: { map: ['id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00.0,subsystem-id=1458:403b'] } },
  },
  downloads: {
    'https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img': {
      size: '597M',
      virtual_size: '3584M',
      checksums: { sha256: '7e2a1c0b5d4f4a3f9c8b7a6d5e4f3c2b1a0f9e8d7c6b5a493827160504938271' },
      guest: 'ubuntu-cloud',
    },
    'https://cloud.debian.org/images/cloud/trixie/latest/debian-13-genericcloud-amd64.qcow2': {
      size: '334M',
      virtual_size: '3G',
      checksums: { sha512: `${'0123456789abcdef'.repeat(8)}` },
      guest: 'debian-agent',
    },
    'https://github.com/siderolabs/talos/releases/download/v1.12.4/metal-amd64.iso': {
      size: '305M',
      format: 'iso',
      mimetype: 'application/x-iso9660-image',
      guest: 'talos-installer',
    },
    'https://example.com/gone.qcow2': { size: 0, status: 404 },
  },
};
