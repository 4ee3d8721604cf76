/** PCI devices to pass through: whether they exist, can be passed through, and belong to one VM alone. */
import { nodeCommand } from '../../base/text/node-command.ts';
import { counted } from '../../base/values/units.ts';
import type { ExamineContext, Examined } from '../doctor/examined.ts';
import { type Finding, findingsOf } from '../doctor/finding.ts';
import { whereOf } from '../fields/positions.ts';
import { propertyOf } from '../vm/config/parts.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { mappedPaths, type PciHardware, pciPath, pciPathsOverlap } from './mapping.ts';
import { readDevices } from './observe.ts';

/** Of the nodes on which a VM of the stack gets a device. */
export async function examineDevices({ pve, stack, observed, signal }: ExamineContext): Promise<Examined['devices']> {
  const names = new Set(stack.vms.flatMap(({ fields }) => (fields.pci ? [fields.node] : [])));
  const read = [...names]
    .filter((name) => observed.nodes.get(name)?.online)
    .map(async (name) => [name, await readDevices(pve, name, signal)] as const);
  return new Map(await Promise.all(read));
}

type CheckInput = Pick<Examined, 'stack' | 'observed' | 'devices'>;

interface PassedDevice {
  readonly vm: ResolvedVm;
  readonly field: string;
  readonly mapping: string | undefined;
  /** Devices that it may get. */
  readonly paths: readonly string[];
}

const say = findingsOf('devices');

export function checkDevices(examination: CheckInput): Finding[] {
  const passed = examination.stack.vms.flatMap((vm) => passedDevices(vm, examination));
  if (passed.length === 0) return [];
  const { pciMappings } = examination.observed;
  const unread = pciMappings.ok ? [] : [say.unread('PCI mappings', pciMappings.needs)];
  const findings = passed.flatMap((device) => [
    ...checkHardware(device, examination),
    ...checkOthers(device, examination),
  ]);
  const hidden = [...examination.devices].flatMap(([node, devices]) =>
    !devices.ok ? [say.unread(`Devices and IOMMU groups of ${node}`, devices.needs)] : [],
  );
  if (findings.length > 0) return [...findings, ...unread, ...hidden];
  return [say.good(`${counted(passed.length, 'device')} to pass through, each to one VM.`), ...unread, ...hidden];
}

function passedDevices(vm: ResolvedVm, { observed: { pciMappings } }: CheckInput): PassedDevice[] {
  return Object.entries(vm.fields.pci ?? {}).map(([slot, { device, mapping }]) => {
    const map = pciMappings.ok && mapping !== undefined ? pciMappings.value.get(mapping) : undefined;
    const paths = device === undefined ? mappedPaths(map ?? [], vm.fields.node) : [pciPath(device)];
    return { vm, field: `pci.${slot}`, mapping, paths };
  });
}

function checkHardware({ vm, field, paths }: PassedDevice, { devices: all }: CheckInput): Finding[] {
  const { node } = vm.fields;
  const devices = all.get(node);
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
function checkOthers({ vm, field, mapping, paths }: PassedDevice, { observed }: CheckInput): Finding[] {
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
