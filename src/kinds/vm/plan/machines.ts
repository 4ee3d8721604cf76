/** Shared by the plans of VMs and templates: which machines are created, and the tokens that others depend on. Pure. */
import type { Address } from '../../../base/address.ts';
import type { PlanContext } from '../../kind.ts';
import type { ResolvedVm } from '../../stack.ts';
import { sourceVolumes } from '../config/disks.ts';

export function needsCreation({ state, observed }: Pick<PlanContext, 'state' | 'observed'>, address: Address): boolean {
  const observedVm = observed.vms.get(address);
  return !state.vms[address] || !observedVm || observedVm.kind === 'gone';
}

/** The token that VMs with this address in their `after` depend on. */
export function machineToken(address: Address): string {
  return `machine:${address}`;
}

/** Tokens of the files that it is made from, on its node or on shared storage. */
export function volumesUsed({ fields }: ResolvedVm): string[] {
  return sourceVolumes(fields).flatMap((volume) => [`volume:${fields.node}/${volume}`, `volume:*/${volume}`]);
}
