/** Memory, cores and PCI devices of the nodes, compared with running and planned VMs. */

import { nodeCommand } from '../../../base/text/node-command.ts';
import { counted } from '../../../base/values/units.ts';
import type { NodeRoom } from '../../../kinds/change.ts';
import type { Observed } from '../../../kinds/observed.ts';
import { mappedPaths, type PciHardware, pciPath, pciPathsOverlap } from '../../../kinds/pci-mapping/mapping.ts';
import { type ResolvedVm, whereOf } from '../../../kinds/stack.ts';
import { propertyOf } from '../../../kinds/vm/config/parts.ts';
import { type Load, loadOf } from '../../../kinds/vm/placement/load.ts';
import { roomWords } from '../../../kinds/vm/placement/words.ts';
import type { VmEntry } from '../../../pve/index.ts';
import { baseOf, type Examination, type ObservedNode } from '../examination.ts';
import { type Finding, findingsOf, roughSize } from '../finding.ts';

export function checkCapacity({
  stack,
  observed,
  nodes,
  result,
}: Pick<Examination, 'stack' | 'observed' | 'nodes' | 'result'>): Finding[] {
  const room = result.ok ? (result.plan.room ?? []) : [];
  return [...nodes].flatMap(([node, observedNode]) => {
    const vms = stack.vms.filter(({ fields }) => fields.node === node && fields.power === 'running');
    const own = room.filter((each) => each.node === node);
    return judge(node, observedNode, vms, observed).map((finding) => ({ ...finding, ...freeThere(own) }));
  });
}

/** As the plan shows it. */
function freeThere(room: readonly NodeRoom[]): Pick<Finding, 'details'> {
  return room.length === 0 ? {} : { details: room.map((each) => `Free now, and after an apply: ${roomWords(each)}.`) };
}

function judge(
  node: string,
  { status, vms }: ObservedNode,
  desired: readonly ResolvedVm[],
  observed: Observed,
): Finding[] {
  const say = findingsOf('capacity');
  if (!status.ok) return [say.unread(`Memory and cores of ${node}`, status.needs)];
  const { memory, cpuinfo } = status.value;
  const running = vms.filter((vm) => vm.status === 'running');
  const runningIds = new Set<number>(running.map(({ vmid }) => vmid));
  const idle = desired.filter((vm) => !isRunning(vm, observed, runningIds));
  const [there, planned] = [
    sum(running.map(loadOfRunning)),
    sum(idle.map((vm) => loadOf(vm.fields, baseOf(vm, observed)))),
  ];
  const memoryBytes = there.memoryBytes + planned.memoryBytes;
  const cores = there.cores + planned.cores;
  const words = `${node}: ${roughSize(there.memoryBytes)} running + ${roughSize(planned.memoryBytes)} planned of ${roughSize(memory.total)} memory; ${there.cores} + ${planned.cores} of ${cpuinfo.cpus} cores.`;
  if (memoryBytes > memory.total) {
    return [
      say.warning(`${words} Memory is overcommitted.`, {
        remedy: 'Move VMs to another node, or reduce their memory: memory, balloon',
      }),
    ];
  }
  if (cores > cpuinfo.cpus && planned.cores > 0) {
    const remedy = 'This is fine for mostly idle guests. Otherwise move VMs to another node, or reduce cpu.cores.';
    return [say.warning(`${words} Cores are overcommitted.`, { remedy })];
  }
  return [say.good(words)];
}

function isRunning(vm: ResolvedVm, observed: Observed, runningIds: ReadonlySet<number>): boolean {
  const found = observed.vms.get(vm.address);
  return found?.kind === 'present' && runningIds.has(found.vm.vmid);
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

type Seen = Pick<Examination, 'stack' | 'observed' | 'nodes'>;

interface PassedDevice {
  readonly vm: ResolvedVm;
  readonly field: string;
  readonly mapping: string | undefined;
  /** Devices that it may get. */
  readonly paths: readonly string[];
}

const say = findingsOf('devices');

export function checkDevices(examination: Seen): Finding[] {
  const passed = examination.stack.vms.flatMap((vm) => passedDevices(vm, examination));
  if (passed.length === 0) return [];
  const { pciMappings } = examination.observed;
  const unread = pciMappings.ok ? [] : [say.unread('PCI mappings', pciMappings.needs)];
  const findings = passed.flatMap((device) => [
    ...checkHardware(device, examination),
    ...checkOthers(device, examination),
  ]);
  const hidden = [...examination.nodes].flatMap(([node, { devices }]) =>
    devices && !devices.ok ? [say.unread(`Devices and IOMMU groups of ${node}`, devices.needs)] : [],
  );
  if (findings.length > 0) return [...findings, ...unread, ...hidden];
  return [say.good(`${counted(passed.length, 'device')} to pass through, each to one VM.`), ...unread, ...hidden];
}

function passedDevices(vm: ResolvedVm, { observed: { pciMappings } }: Seen): PassedDevice[] {
  return Object.entries(vm.fields.pci ?? {}).map(([slot, { device, mapping }]) => {
    const map = pciMappings.ok && mapping !== undefined ? pciMappings.value.get(mapping) : undefined;
    const paths = device === undefined ? mappedPaths(map ?? [], vm.fields.node) : [pciPath(device)];
    return { vm, field: `pci.${slot}`, mapping, paths };
  });
}

function checkHardware({ vm, field, paths }: PassedDevice, { nodes }: Seen): Finding[] {
  const { node } = vm.fields;
  const devices = nodes.get(node)?.devices;
  if (!devices?.ok) return [];
  return paths.flatMap((path): Finding[] => {
    const own = devices.value.filter((each) => pciPathsOverlap(each.path, path));
    const where = whereOf(vm, field);
    if (own.length === 0) {
      const remedy = `List the devices: ${nodeCommand('pvesh get', [`/nodes/${node}/hardware/pci`])}`;
      return [say.bad(`${node} has no PCI device ${path}.`, { remedy, where })];
    }
    const groups = new Set(own.flatMap(({ iommuGroup }) => iommuGroup ?? []));
    if (groups.size === 0) {
      const remedy = 'Enable the IOMMU: VT-d or AMD-Vi in the firmware, and intel_iommu=on on the kernel command line.';
      return [
        say.bad(`PCI device ${path} of ${node} is in no IOMMU group and cannot be passed through.`, { remedy, where }),
      ];
    }
    const company = devices.value.filter((each) => !own.includes(each) && groups.has(each.iommuGroup ?? -1));
    if (company.length === 0) return [];
    return [
      say.warning(`PCI device ${path} of ${node} shares its IOMMU group with ${company.map(titleOf).join(', ')}.`, {
        remedy:
          'The host loses all of them. Move the card to another slot, or make sure that nothing else needs these devices.',
        where,
      }),
    ];
  });
}

const titleOf = ({ path, name }: PciHardware) => (name === '' ? path : `${path} (${name})`);

/** Two VMs may be configured with the same device, but only one of them can run. */
function checkOthers({ vm, field, mapping, paths }: PassedDevice, { observed }: Seen): Finding[] {
  return [...(observed.neighbours?.vms.values() ?? [])]
    .filter(({ node }) => node === vm.fields.node)
    .flatMap((other): Finding[] => {
      const shares = [...other.current].some(([key, text]) => {
        if (!/^hostpci\d+$/.test(key)) return false;
        const value = propertyOf(key, text);
        const host = value.get('host');
        const isSame = host !== undefined && paths.some((path) => pciPathsOverlap(path, pciPath(host)));
        // From a mapping with several devices, each VM gets a free one.
        return isSame || (mapping !== undefined && value.get('mapping') === mapping && paths.length < 2);
      });
      if (!shares) return [];
      return [
        say.warning(
          `${field} of ${vm.address} is also a device of VM ${other.vmid} (${other.current.get('name') ?? '(no name)'}).`,
          {
            remedy: 'Only one of these VMs can run at a time. Give one of them another device.',
            where: whereOf(vm, field),
          },
        ),
      ];
    });
}
