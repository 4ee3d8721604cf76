/** Whether a PCI mapping still fits the hardware of a node: shared by the start of a VM and by the mapping list. */
import type { PciDevice, SimNode } from '../world/world.ts';

/** Rule [source GC Mapping/PCI.pm assert_valid]: properties are compared in alphabetical order; the first one that differs. */
export function pciMappingProblem(
  node: SimNode,
  name: string,
  entry: ReadonlyMap<string, string>,
  options: ReadonlyMap<string, string> | undefined,
): string | undefined {
  for (const [index, written] of (entry.get('path') ?? '').split(';').entries()) {
    const path = /\.[a-f0-9]/i.test(written) ? written : `${written}.0`;
    const device = node.pciDevices.find((candidate) => candidate.id === path);
    if (!device) return `pci device '${path}' not found`;
    for (const [property, expected] of expectedProperties(device)) {
      if (property === 'iommugroup' && index > 0) continue;
      const configured = property === 'mdev' ? (options?.get('mdev') ?? '0') : entry.get(property);
      if (expected === undefined && configured === undefined) continue;
      if (expected === undefined) return `unexpected property '${property}' configured for device '${path}'`;
      if (configured === undefined) return `missing expected property '${property}' for device '${path}'`;
      const [wanted, given] = [expected, configured].map((text) => text.replaceAll('0x', ''));
      if (wanted !== given) return `'${property}' does not match for '${name}' (${wanted} != ${given})`;
    }
  }
  return undefined;
}

/** Rule [observed 9.2.11]: a device of a host without IOMMU has no group, so none may be configured either. */
function expectedProperties(device: PciDevice): (readonly [string, string | undefined])[] {
  return [
    ['id', `${device.vendor}:${device.device}`],
    ['iommugroup', device.iommuGroup < 0 ? undefined : String(device.iommuGroup)],
    ['mdev', '0'],
    ['subsystem-id', `${device.subsystemVendor}:${device.subsystemDevice}`],
  ];
}
