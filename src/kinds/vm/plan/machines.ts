/** Shared by the plans of VMs and templates: which machines are created, and the tokens that others depend on. Pure. */
import type { Address } from '../../../base/address.ts';
import type { PlanContext } from '../../kind.ts';
import type { ResolvedVm } from '../../stack.ts';

export function needsCreation({ state, observed }: Pick<PlanContext, 'state' | 'observed'>, address: Address): boolean {
  const observedVm = observed.vms.get(address);
  return !state.vms[address] || !observedVm || observedVm.kind === 'gone';
}

/** The token that VMs with this address in their `after` depend on. */
export function machineToken(address: Address): string {
  return `machine:${address}`;
}

/** Tokens of the files that its disks are made from, on its node or on shared storage. */
export function volumesUsed({ fields: { node, disks = {} } }: ResolvedVm): string[] {
  const volumes = Object.values(disks).flatMap(({ import_from, iso }) =>
    [import_from, iso].filter((volume): volume is string => typeof volume === 'string'),
  );
  return volumes.flatMap((volume) => [`volume:${node}/${volume}`, `volume:*/${volume}`]);
}
