/** Random clusters and stacks for them, each from a seed: releases, storages, neighbours, containers, pools, rights. */
import { type Random, randomInteger, seededRandom } from '../../../../src/base/random.ts';
import type { WorldFile } from '../../../../src/simulator/index.ts';

export interface RandomCluster {
  readonly world: WorldFile;
  readonly stack: string;
  readonly nodes: number;
  /** VMs that a plan reads. */
  readonly readVms: number;
}

const SECRET = '00000000-0000-4000-8000-000000000001';
const GIB = 1024 ** 3;

export function randomCluster(seed: number): RandomCluster {
  const random = seededRandom(`cluster ${seed}`);
  const between = (least: number, most: number) => randomInteger(random, least, most);
  const one = <T>(...values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
  const names = Array.from({ length: between(1, 3) }, (_, index) => `host-${index + 1}`);
  const type = one('dir', 'lvmthin', 'zfspool', 'nfs') as 'dir' | 'lvmthin' | 'zfspool' | 'nfs';
  const isShared = type === 'nfs';
  const disk = (vmid: number, base: boolean) => {
    const name = `${base ? 'base' : 'vm'}-${vmid}-disk-0`;
    return type === 'dir' || type === 'nfs' ? `${vmid}/${name}.qcow2` : name;
  };
  const templates = (isShared ? names.slice(0, 1) : names).map((node, index) => ({ node, vmid: 9000 + index }));
  const others = Array.from({ length: between(0, 4) }, (_, index) => ({ vmid: 300 + index, node: one(...names) }));
  const dataGiB = between(1, 4);
  const vm = (vmid: number, node: string, base: boolean) => ({
    node,
    running: !base && random.next() < 0.5,
    config: {
      name: base ? 'golden' : `other-${vmid}`,
      memory: 1024 * between(1, 4),
      cores: between(1, 4),
      agent: '1',
      boot: 'order=scsi0',
      ostype: 'l26',
      net0: `virtio=BC:24:11:00:${hex(Math.floor(vmid / 100))}:${hex(vmid % 100)},bridge=vmbr0`,
      scsihw: 'virtio-scsi-single',
      scsi0: `disks:${disk(vmid, base)},size=8G`,
      smbios1: `uuid=5e0c4a77-7886-477f-ad9d-${String(vmid).padStart(12, '0')}`,
      ...(base && { template: 1, ide2: `disks:${cloudInit(type, vmid)},media=cdrom` }),
    },
  });
  const world: WorldFile = {
    version: one('8.4', '9.0', '9.2'),
    ...(names.length > 1 && { cluster: 'random' }),
    nodes: Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          memory: between(32, 128) * GIB,
          cpus: between(4, 32),
          bridges: { vmbr0: { dhcp: { first: `10.9.${index}.10`, last: `10.9.${index}.90` } } },
          filesystems: {
            root: { total: '100G', foreign: '10G' },
            disks: { total: '900G', foreign: between(0, 200) * GIB },
          },
        },
      ]),
    ),
    storages: {
      local: { content: ['iso', 'import'] },
      disks: {
        type,
        content: ['images'],
        filesystem: 'disks',
        bandwidth: between(80, 600) * 1_000_000,
        volumes: [
          ...templates.map(({ node, vmid }) => ({
            name: disk(vmid, true),
            ...(!isShared && { node }),
            size: '8G',
            used: dataGiB * GIB,
            data: dataGiB * GIB,
            guest: 'golden',
          })),
        ],
      },
    },
    guests: {
      golden: { boot_ms: 1000 * between(5, 60), agent_ms: 1000 * between(0, 5), shutdown_ms: 1000 * between(1, 9) },
    },
    vms: Object.fromEntries([
      ...templates.map(({ vmid, node }) => [vmid, vm(vmid, node, true)] as const),
      ...others.map(({ vmid, node }) => [vmid, vm(vmid, node, false)] as const),
    ]),
    containers: random.next() < 0.5 ? { 350: { node: one(...names), name: 'proxy', running: true } } : {},
    pools: { team: { vms: others.slice(0, 1).map(({ vmid }) => vmid) } },
    users: { 'root@pam': { tokens: { admin: { secret: SECRET, privsep: false } } } },
  };
  return { world, stack: randomStack(random, names), nodes: names.length, readVms: templates.length + others.length };
}

const hex = (number: number) => number.toString(16).padStart(2, '0').toUpperCase();

function cloudInit(type: string, vmid: number): string {
  return type === 'dir' || type === 'nfs' ? `${vmid}/vm-${vmid}-cloudinit.qcow2` : `vm-${vmid}-cloudinit`;
}

function randomStack(random: Random, nodes: readonly string[]): string {
  const between = (least: number, most: number) => randomInteger(random, least, most);
  const isStatic = random.next() < 0.4;
  const nics = isStatic
    ? 'nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.9.200.11-10.9.200.19/24, gateway: 10.9.200.1 } } }'
    : 'nics: { net0: { bridge: vmbr0, ipv4: dhcp } }';
  const node = nodes[between(0, nodes.length - 1)];
  return `
version: 1
stack: lab
defaults:
  node: ${node}
  clone: { template: golden, mode: full }
  memory: ${between(1, 4)}GiB
${random.next() < 0.3 ? '  pool: team' : ''}
vms:
  db:
    name: db
    vmids: 401-419
    guest: cloud-init
    ${nics}
  web:
    count: ${between(1, 3)}
    name: web-\${number}
    vmids: 401-419
    ${random.next() < 0.5 ? 'after: [db]' : ''}
    cpu: { cores: ${between(1, 4)} }
    disks: { scsi0: { size: ${between(8, 20)}GiB } }
rollout: { readiness: ${random.next() < 0.5 ? 'parallel' : 'sequential'} }
`;
}
