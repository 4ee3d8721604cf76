/**
 * Hosts right after their installation: storage and bridges, without any VM, template or image. What they can download
 * is in `well-known-downloads.ts`.
 */
import { DEFAULT_WORLD, GPU } from './default-world.ts';
import { WELL_KNOWN_DOWNLOADS } from './well-known-downloads.ts';
import type { WorldFile } from './world-file.ts';

type NodeFile = WorldFile['nodes'][string];

/** What a deployment with its own images and templates needs in addition to the role of the default world. */
const IMAGE_PRIVILEGES = ['Datastore.Allocate', 'Mapping.Audit', 'Mapping.Modify', 'Sys.AccessNetwork', 'Sys.Modify'];

const CREDENTIALS = {
  users: DEFAULT_WORLD.users,
  roles: {
    ...DEFAULT_WORLD.roles,
    DeployFromBare: [...(DEFAULT_WORLD.roles?.Deploy ?? []), ...IMAGE_PRIVILEGES],
  },
  acl: [{ path: '/', role: 'DeployFromBare', user: 'deploy@pve' }],
} satisfies Partial<WorldFile>;

const LOCAL = {
  local: { path: '/var/lib/vz', content: ['iso', 'import', 'vztmpl', 'snippets', 'backup'] },
  'local-lvm': {
    type: 'lvmthin',
    content: ['images', 'rootdir'],
    filesystem: 'data',
    options: { vgname: 'pve', thinpool: 'data' },
  },
} satisfies WorldFile['storages'];

function host(number: number, more: Partial<NodeFile> = {}): NodeFile {
  const [first, last] = [`10.0.20.${10 + number * 60}`, `10.0.20.${10 + number * 60 + 59}`];
  return {
    // A loopback address: other tools open SSH to the address that the API reports, and must stay on this machine.
    address: `127.0.20.${number + 1}`,
    cpus: 32,
    memory: '128G',
    uptime: 3_600,
    bridges: {
      vmbr0: { cidr: `127.0.20.${number + 1}/24`, dhcp: { first, last, prefix: 24 } },
      vmbr1: { vlan_aware: true },
    },
    ...more,
    filesystems: { root: { total: '94G', foreign: '6G' }, data: { total: '816G' }, ...more.filesystems },
  };
}

/** One host `vmhost`. */
export const BARE_WORLD: WorldFile = {
  nodes: {
    vmhost: host(1, {
      filesystems: { tank: { total: '1800G' } },
      pci: [GPU, { ...GPU, id: '0000:41:00.0', iommu_group: 31 }],
    }),
  },
  storages: {
    ...LOCAL,
    tank: {
      type: 'zfspool',
      content: ['images', 'rootdir'],
      filesystem: 'tank',
      options: { pool: 'tank', sparse: '1' },
    },
  },
  ...CREDENTIALS,
  downloads: WELL_KNOWN_DOWNLOADS,
};

/** Three hosts, each with local storage, and one shared storage. */
export const BARE_CLUSTER_WORLD: WorldFile = {
  cluster: 'lab',
  nodes: {
    pve1: host(1, { filesystems: { nfs: { total: '4T', foreign: '300G' } } }),
    pve2: host(2),
    pve3: host(3),
  },
  storages: {
    ...LOCAL,
    nfs: {
      type: 'nfs',
      content: ['images', 'iso', 'snippets', 'import', 'backup'],
      filesystem: 'nfs',
      bandwidth: '110M',
      options: { server: '10.0.20.250', export: '/srv/proxmox' },
    },
  },
  ...CREDENTIALS,
  downloads: WELL_KNOWN_DOWNLOADS,
};
