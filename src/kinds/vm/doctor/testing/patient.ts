/** An examination without problems; tests change the part that they are about. */
import { formatDiagnostic } from '../../../../base/diagnostics.ts';
import type { Examination } from '../../../../engine/doctor/examination.ts';
import type { Vmid } from '../../../../pve/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../../../spec/index.ts';
import type { StorageRow } from '../../../cluster.ts';
import type { Observed } from '../../../observed.ts';
import { emptyState } from '../../../recorded.ts';
import type { TemplateCandidate } from '../../../template/observed.ts';
import { addressesOf } from '../../observe/neighbours.ts';
import type { Neighbours, ObservedNode } from '../../observe/observed-vms.ts';
import type { VmObserved } from '../../observed.ts';
import { emptyVm } from '../../privileges/forecast.ts';

export const GIB = 1024 ** 3;

export function stackFrom(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(`version: 1\nstack: lab\nvms:\n${text}`, 'stack.yaml'), {});
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  return stack;
}

export const WEB = `  web:
    name: web
    vmid: 401
    node: pve1
    guest: cloud-init
    clone: { template: 9000 }
    memory: 2GiB
    cpu: { cores: 2 }
    nics: { net0: { bridge: vmbr0, ipv4: { address: 10.0.0.11/24 } } }
`;

const TEMPLATE: Readonly<Record<string, string>> = {
  name: 'ubuntu',
  agent: '1',
  boot: 'order=scsi0',
  memory: '1024',
  ide2: 'tank:vm-9000-cloudinit,media=cdrom',
  net0: 'virtio=BC:24:11:00:90:00,bridge=vmbr0',
  scsi0: 'tank:base-9000-disk-0,size=4G',
};

export function vmOf(
  vmid: number,
  config: Readonly<Record<string, string>>,
  part: Partial<VmObserved> = {},
): VmObserved {
  return { ...emptyVm(vmid, 'pve1'), current: new Map(Object.entries(config)), ...part };
}

export function templateWith(change: Readonly<Record<string, string | undefined>> = {}): TemplateCandidate {
  const entries = Object.entries({ ...TEMPLATE, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const value = vmOf(9000, Object.fromEntries(entries), { template: true });
  return { vmid: 9000, node: 'pve1', name: 'ubuntu', isTemplate: true, vm: { ok: true, value } };
}

export function storageRow(part: Partial<StorageRow> = {}): StorageRow {
  return {
    storage: 'tank',
    type: 'dir',
    content: new Set(['images']),
    active: true,
    enabled: true,
    shared: false,
    availableBytes: 100 * GIB,
    formats: undefined,
    ...part,
  };
}

export function observedWith(part: Partial<Observed> = {}): Observed {
  return {
    version: { version: '9.2.11', release: '9.2' },
    nodes: new Map([['pve1', { online: true }]]),
    guests: new Map(),
    vms: new Map(),
    templates: new Map([['#9000', [templateWith()]]]),
    storages: new Map([['pve1', { ok: true, value: [storageRow()] }]]),
    bridges: new Map([['pve1', { ok: true, value: new Set(['vmbr0']) }]]),
    images: [],
    pciMappings: { ok: true, value: new Map() },
    claimants: new Map(),
    locks: new Map(),
    takenIds: new Set(),
    neighbours: neighboursOf(),
    ...part,
  };
}

/** VMs outside the state, all of them readable. */
export function neighboursOf(vms: readonly VmObserved[] = [], more: Partial<Neighbours> = {}): Neighbours {
  const all = new Map(vms.map((vm) => [vm.vmid, vm]));
  return { vms: all, ...addressesOf(all, new Map(), []), unread: [], isComplete: true, ...more };
}

type Looked = Pick<
  Examination,
  'stack' | 'state' | 'observed' | 'foreseen' | 'nodes' | 'devices' | 'volumes' | 'now' | 'principal'
>;

export function patient(part: Partial<Looked> = {}): Looked {
  return {
    now: 0,
    principal: 'prov@pve!tok',
    stack: stackFrom(WEB),
    state: emptyState('lab'),
    observed: observedWith(),
    foreseen: part.observed ?? observedWith(),
    nodes: new Map([['pve1', { status: nodeStatus(16 * GIB, 8), vms: [] }]]),
    devices: new Map(),
    volumes: new Map([['pve1/tank/9000', { ok: true, value: new Set(['tank:base-9000-disk-0']) }]]),
    ...part,
  };
}

export function nodeStatus(totalBytes: number, cpus: number): ObservedNode['status'] {
  return {
    ok: true,
    value: {
      uptime: 1,
      memory: { total: totalBytes, used: 0, free: undefined },
      cpuinfo: { cpus, model: undefined, flags: undefined },
      pveversion: undefined,
    },
  };
}

export function runningVm(vmid: number, memoryBytes: number, cpus: number): ObservedNode['vms'][number] {
  return {
    vmid: vmid as Vmid, // a number in the range of ids
    status: 'running',
    name: undefined,
    template: undefined,
    lock: undefined,
    tags: undefined,
    uptime: undefined,
    netin: undefined,
    netout: undefined,
    maxmem: memoryBytes,
    maxdisk: undefined,
    cpus,
  };
}
