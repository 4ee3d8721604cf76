/** What the plans of VMs and templates have in common: who is to be made, and what others find them by. Pure. */
import type { Address } from '../../../base/address.ts';
import type { PlanContext } from '../../kind.ts';
import type { ResolvedVm } from '../../stack.ts';

export function isToBeMade({ state, observed }: Pick<PlanContext, 'state' | 'observed'>, address: Address): boolean {
  const found = observed.vms.get(address);
  return !state.vms[address] || !found || found.kind === 'gone';
}

/** What those who come `after` a VM find it by. */
export function machineToken(address: Address): string {
  return `machine:${address}`;
}

/** Files that its disks are made from, on its own node or on shared storage. */
export function volumesUsed({ fields: { node, disks = {} } }: ResolvedVm): string[] {
  const volumes = Object.values(disks).flatMap(({ import_from, iso }) =>
    [import_from, iso].filter((volume): volume is string => typeof volume === 'string'),
  );
  return volumes.flatMap((volume) => [`volume:${node}/${volume}`, `volume:*/${volume}`]);
}
