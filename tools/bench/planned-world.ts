/** Many VMs that match a stack exactly, and that stack with a state that records them. */
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { emptyState, type StackState } from '../../src/kinds/recorded.ts';
import { buildWorld, type World, type WorldFile } from '../../src/simulator/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../src/spec/index.ts';
import { TOKEN } from './requests.ts';

const NODE = 'pve1';
const PER_GROUP = 50;
export const FIRST_ID = 10_000;
const GIB = 1024 ** 3;

const groupOf = (index: number) => `group${Math.floor(index / PER_GROUP) + 1}`;
export const nameOf = (index: number) => `${groupOf(index)}-${(index % PER_GROUP) + 1}`;
const addressOf = (index: number) => `vm.${groupOf(index)}[${(index % PER_GROUP) + 1}]`;
const uuidOf = (vmid: number) => `5e0c4a77-7886-477f-ad9d-${String(vmid).padStart(12, '0')}`;
const indices = (count: number) => Array.from({ length: count }, (_, index) => index);

export function plannedWorld(count: number, now: number): World {
  const file: WorldFile = {
    nodes: { [NODE]: { memory: '512G', filesystems: { root: { total: 64 * count * GIB } } } },
    storages: { local: { path: '/var/lib/vz', content: ['images'] } },
    vms: Object.fromEntries(indices(count).map((index) => [FIRST_ID + index, { config: configOf(index) }])),
    users: { 'root@pam': { tokens: { test: { secret: TOKEN.split('=')[1] ?? '', privsep: false } } } },
  };
  return buildWorld(file, { now, file: 'bench' });
}

function configOf(index: number): Record<string, string | number> {
  const vmid = FIRST_ID + index;
  const mac = (0x10_00_00 + index).toString(16).toUpperCase().match(/../g)?.join(':') ?? '';
  return {
    name: nameOf(index),
    memory: '2048',
    cores: 2,
    boot: 'order=scsi0;net0',
    scsihw: 'virtio-scsi-single',
    scsi0: `local:${vmid}/vm-${vmid}-disk-0.qcow2,size=8G`,
    net0: `virtio=BC:24:11:${mac},bridge=vmbr0,tag=20`,
    smbios1: `uuid=${uuidOf(vmid)}`,
    description: `proxwright: stack=bench address=${addressOf(index)} vmid=${vmid} uuid=${uuidOf(vmid)}`,
    tags: 'bench;measured',
    ostype: 'l26',
  };
}

export function plannedStack(count: number): { readonly stack: ResolvedStack; readonly state: StackState } {
  const groups = indices(Math.ceil(count / PER_GROUP)).map((group) => [
    `group${group + 1}`,
    { count: Math.min(PER_GROUP, count - group * PER_GROUP), name: `group${group + 1}-\${number}` },
  ]);
  const text = JSON.stringify({
    version: 1,
    stack: 'bench',
    defaults: {
      node: NODE,
      power: 'stopped',
      clone: { template: 100 },
      memory: '2GiB',
      cpu: { cores: 2 },
      disks: { scsi0: { size: '8GiB' } },
      nics: { net0: { bridge: 'vmbr0', vlan: 20 } },
      boot: ['scsi0', 'net0'],
      tags: ['bench', 'measured'],
    },
    vms: Object.fromEntries(groups),
  });
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.json'), {});
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  const vms = indices(count).map((index) => [
    addressOf(index),
    {
      vmid: FIRST_ID + index,
      uuid: uuidOf(FIRST_ID + index),
      node: NODE,
      name: nameOf(index),
      phase: 'complete' as const,
      lastApplied: {},
      secrets: {},
      macs: {},
      addresses: {},
    },
  ]);
  return { stack, state: { ...emptyState('bench'), vms: Object.fromEntries(vms) } };
}
