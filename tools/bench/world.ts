/** A world of many VMs on one node, with pools, one of which a tenant may see. */
import type { Instant } from '../../src/base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../src/simulator/index.ts';
import { TOKEN } from './requests.ts';

export const NODE = 'pve1';
export const TEMPLATE = 100;
export const TENANT_AUTHORIZATION = 'PVEAPIToken=tenant@pve!ci=11111111-1111-4111-8111-111111111111';

const FIRST_VMID = 1000;
const POOLS = 10;
const GIB = 1024 ** 3;

export function largeWorld(vmCount: number, now: Instant): World {
  const vmids = Array.from({ length: vmCount - 1 }, (_, index) => FIRST_VMID + index);
  const [, secret = ''] = TOKEN.split('=');
  const file: WorldFile = {
    nodes: { [NODE]: { filesystems: { root: { total: 64 * vmCount * GIB } } } },
    storages: { local: { path: '/var/lib/vz', content: ['images'] } },
    vms: {
      [TEMPLATE]: { config: { ...machine(TEMPLATE), scsi0: disk(TEMPLATE, 'base'), template: 1 } },
      ...Object.fromEntries(
        vmids.map((vmid) => [vmid, { running: vmid % 2 === 0, config: { ...machine(vmid), scsi0: disk(vmid, 'vm') } }]),
      ),
    },
    users: {
      'root@pam': { tokens: { test: { secret, privsep: false } } },
      'tenant@pve': { tokens: { ci: { secret: '11111111-1111-4111-8111-111111111111', privsep: false } } },
    },
    pools: Object.fromEntries(
      Array.from({ length: POOLS }, (_, pool) => [
        `pool${pool}`,
        { vms: vmids.filter((vmid) => vmid % POOLS === pool) },
      ]),
    ),
    acl: [{ path: '/pool/pool0', role: 'PVEVMUser', user: 'tenant@pve' }],
  };
  return buildWorld(file, { now, file: 'bench' });
}

function machine(vmid: number): Record<string, string | number> {
  return {
    name: `vm-${vmid}`,
    memory: '512',
    cores: 1,
    boot: 'order=scsi0',
    net0: `virtio=BC:24:11:${(vmid + 0x10_00_00).toString(16).toUpperCase().match(/../g)?.join(':') ?? ''},bridge=vmbr0`,
    scsihw: 'virtio-scsi-single',
    tags: vmid % 3 === 0 ? 'third' : 'other',
  };
}

function disk(vmid: number, kind: 'vm' | 'base'): string {
  return `local:${vmid}/${kind}-${vmid}-disk-0.qcow2,size=8G`;
}
