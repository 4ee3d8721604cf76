/** PCI devices that the stack passes on: there, in an IOMMU group of their own, and nobody else's. */
import { counted } from '../../../base/count.ts';
import { mappedPaths, type PciHardware, pciPath, pciPathsOverlap } from '../../../kinds/pci-mapping/mapping.ts';
import type { ResolvedVm } from '../../../kinds/stack.ts';
import { propertyOf } from '../../../kinds/vm/parts.ts';
import { whereOf } from '../../../kinds/vm/where.ts';
import type { Examination } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';

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
