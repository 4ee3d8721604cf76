/** What making a PCI mapping needs, or adding a node to one. */
import { type AclPath, type Need, need, type OneOf, on } from './need.ts';

/** A plan makes one only where it sees that none is there, so the whole folder must be open to the token. */
const ALL_MAPPINGS: OneOf<AclPath> = [{ path: '/mapping/pci', below: true }];

export function pciMapNeeds(): Need[] {
  const cause = { field: 'pci' };
  return [
    need('Mapping.Modify', ALL_MAPPINGS, cause),
    need('Mapping.Use', ALL_MAPPINGS, cause),
    // The ids of the device are read from its node.
    need(['Sys.Audit', 'Sys.Modify'], on('/'), cause),
  ];
}
