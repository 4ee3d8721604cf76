/** Memory and cores of the nodes, against what runs there and what is to run. */

import { counted } from '../../../base/units.ts';
import type { Observed } from '../../../kinds/observed.ts';
import { mappedPaths, type PciHardware, pciPath, pciPathsOverlap } from '../../../kinds/pci-mapping/mapping.ts';
import type { ResolvedVm } from '../../../kinds/stack.ts';
import { propertyOf } from '../../../kinds/vm/parts.ts';
import { whereOf } from '../../../kinds/vm/where.ts';
import type { VmEntry } from '../../../pve/index.ts';
import { baseOf, type Examination, type NodeSight } from '../examination.ts';
import { type Finding, findingsOf, roughSize } from '../finding.ts';

const MIB = 1024 ** 2;
/** What Proxmox gives a VM of which nobody says anything. */
const DEFAULT_MEMORY_MIB = 512;

interface Load {
  readonly memoryBytes: number;
  readonly cores: number;
}

export function checkCapacity({
  stack,
  observed,
  nodes,
}: Pick<Examination, 'stack' | 'observed' | 'nodes'>): Finding[] {
  return [...nodes].flatMap(([node, sight]) => {
    const vms = stack.vms.filter(({ fields }) => fields.node === node && fields.power === 'running');
    return judge(node, sight, vms, observed);
  });
}

function judge(node: string, { status, vms }: NodeSight, wanted: readonly ResolvedVm[], observed: Observed): Finding[] {
  const say = findingsOf('capacity');
  if (!status.ok) return [say.unread(`Memory and cores of ${node}`, status.needs)];
  const { memory, cpuinfo } = status.value;
  const tooWide = wanted.filter((vm) => loadOf(vm, observed).cores > cpuinfo.cpus);
  const running = vms.filter((vm) => vm.status === 'running');
  const runningIds = new Set<number>(running.map(({ vmid }) => vmid));
  const idle = wanted.filter((vm) => !isRunning(vm, observed, runningIds));
  const [there, planned] = [sum(running.map(loadOfRunning)), sum(idle.map((vm) => loadOf(vm, observed)))];
  const memoryBytes = there.memoryBytes + planned.memoryBytes;
  const cores = there.cores + planned.cores;
  const words = `${node}: ${roughSize(there.memoryBytes)} run, ${roughSize(planned.memoryBytes)} are planned, of ${roughSize(memory.total)} memory; ${there.cores} + ${planned.cores} of ${cpuinfo.cpus} cores.`;
  const findings = tooWide.map((vm) =>
    say.bad(
      `${vm.address} wants ${loadOf(vm, observed).cores} cores and ${node} has ${cpuinfo.cpus}: Proxmox will not start it.`,
      {
        remedy: `Write cpu.cores: ${cpuinfo.cpus} or less.`,
        where: whereOf(vm, 'cpu.cores'),
      },
    ),
  );
  if (memoryBytes > memory.total) {
    return [
      ...findings,
      say.warning(`${words} Memory is promised more than once.`, {
        remedy: 'Place VMs on another node, or give them less: memory, balloon',
      }),
    ];
  }
  if (cores > cpuinfo.cpus && planned.cores > 0) {
    const remedy = 'Fine for guests that idle; for busy ones place them on another node, or write fewer cpu.cores.';
    return [...findings, say.warning(`${words} Cores are shared.`, { remedy })];
  }
  return [...findings, say.good(words)];
}

function isRunning(vm: ResolvedVm, observed: Observed, runningIds: ReadonlySet<number>): boolean {
  const found = observed.vms.get(vm.address);
  return found?.kind === 'present' && runningIds.has(found.vm.vmid);
}

/** What the file says, else what the VM or its template has. */
function loadOf(vm: ResolvedVm, observed: Observed): Load {
  const { memory, cpu } = vm.fields;
  const base = baseOf(vm, observed);
  const inheritedMib = Number(propertyOf('memory', base.get('memory')).get('current') ?? DEFAULT_MEMORY_MIB);
  const cores = cpu?.cores ?? Number(base.get('cores') ?? 1);
  const sockets = cpu?.sockets ?? Number(base.get('sockets') ?? 1);
  return { memoryBytes: memory ?? inheritedMib * MIB, cores: cores * sockets };
}

function loadOfRunning({ maxmem = 0, ...rest }: VmEntry): Load {
  return { memoryBytes: maxmem, cores: Number(rest.cpus ?? 0) };
}

function sum(loads: readonly Load[]): Load {
  return loads.reduce(
    (all, each) => ({ memoryBytes: all.memoryBytes + each.memoryBytes, cores: all.cores + each.cores }),
    {
      memoryBytes: 0,
      cores: 0,
    },
  );
}

type Seen = Pick<Examination, 'stack' | 'observed' | 'nodes' | 'neighbours'>;

interface Wish {
  readonly vm: ResolvedVm;
  readonly field: string;
  readonly mapping: string | undefined;
  /** Devices it may get. */
  readonly paths: readonly string[];
}

const say = findingsOf('devices');

export function checkDevices(examination: Seen): Finding[] {
  const wishes = examination.stack.vms.flatMap((vm) => wishesOf(vm, examination));
  if (wishes.length === 0) return [];
  const { pciMappings } = examination.observed;
  const unread = pciMappings.ok ? [] : [say.unread('PCI mappings', pciMappings.needs)];
  const findings = wishes.flatMap((wish) => [...checkHardware(wish, examination), ...checkOthers(wish, examination)]);
  const hidden = [...examination.nodes].flatMap(([node, { devices }]) =>
    devices && !devices.ok ? [say.unread(`Devices and IOMMU groups of ${node}`, devices.needs)] : [],
  );
  if (findings.length > 0) return [...findings, ...unread, ...hidden];
  return [say.good(`${counted(wishes.length, 'device')} to pass on, none of them twice.`), ...unread, ...hidden];
}

function wishesOf(vm: ResolvedVm, { observed: { pciMappings } }: Seen): Wish[] {
  return Object.entries(vm.fields.pci ?? {}).map(([slot, { device, mapping }]) => {
    const map = pciMappings.ok && mapping !== undefined ? pciMappings.value.get(mapping) : undefined;
    const paths = device === undefined ? mappedPaths(map ?? [], vm.fields.node) : [pciPath(device)];
    return { vm, field: `pci.${slot}`, mapping, paths };
  });
}

function checkHardware({ vm, field, paths }: Wish, { nodes }: Seen): Finding[] {
  const { node } = vm.fields;
  const devices = nodes.get(node)?.devices;
  if (!devices?.ok) return [];
  return paths.flatMap((path): Finding[] => {
    const own = devices.value.filter((each) => pciPathsOverlap(each.path, path));
    const where = whereOf(vm, field);
    if (own.length === 0) {
      const remedy = `See what there is: pvesh get /nodes/${node}/hardware/pci`;
      return [say.bad(`${node} has no PCI device ${path}.`, { remedy, where })];
    }
    const groups = new Set(own.flatMap(({ iommuGroup }) => iommuGroup ?? []));
    if (groups.size === 0) {
      const remedy = 'Switch the IOMMU on: VT-d or AMD-Vi in the firmware, intel_iommu=on on the kernel command line';
      return [
        say.bad(`PCI device ${path} of ${node} is in no IOMMU group and cannot be passed on.`, { remedy, where }),
      ];
    }
    const company = devices.value.filter((each) => !own.includes(each) && groups.has(each.iommuGroup ?? -1));
    if (company.length === 0) return [];
    return [
      say.warning(`PCI device ${path} of ${node} shares its IOMMU group with ${company.map(titleOf).join(', ')}.`, {
        remedy:
          'They leave the host together with it: move the card to another slot, or be sure that nobody needs them.',
        where,
      }),
    ];
  });
}

const titleOf = ({ path, name }: PciHardware) => (name === '' ? path : `${path} (${name})`);

/** Two VMs may have one device in their configurations; only one of them can run. */
function checkOthers({ vm, field, mapping, paths }: Wish, { neighbours }: Seen): Finding[] {
  return [...neighbours.vms.values()]
    .filter(({ node, template }) => node === vm.fields.node && !template)
    .flatMap((other): Finding[] => {
      const shares = [...other.current].some(([key, text]) => {
        if (!/^hostpci\d+$/.test(key)) return false;
        const value = propertyOf(key, text);
        const host = value.get('host');
        const isSame = host !== undefined && paths.some((path) => pciPathsOverlap(path, pciPath(host)));
        // Of a mapping with several devices each gets one that is free.
        return isSame || (mapping !== undefined && value.get('mapping') === mapping && paths.length < 2);
      });
      if (!shares) return [];
      return [
        say.warning(
          `${field} of ${vm.address} is also a device of VM ${other.vmid} (${other.current.get('name') ?? '(no name)'}).`,
          {
            remedy: 'Only one of them can run at a time: give one of them another device.',
            where: whereOf(vm, field),
          },
        ),
      ];
    });
}
