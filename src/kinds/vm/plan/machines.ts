/** Shared by the plans of VMs and templates: which machines are created or half created, and the tokens that others depend on. Pure. */
import type { Address } from '../../../base/address.ts';
import type { PlanContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { StackState } from '../../recorded.ts';
import { machinesOf, type ResolvedStack, type ResolvedVm } from '../../stack.ts';
import { sourceVolumes } from '../config/disks.ts';
import { isStuck } from '../lock.ts';

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

/**
 * Machines that an unfinished run was creating. Only apply finds out how they ended, so a command that only reads leaves
 * them out of its plan. A lock that no task holds is known now, and the plan refuses it by name.
 */
export function unfinishedMachines(stack: ResolvedStack, state: StackState, observed: Observed): ResolvedVm[] {
  return machinesOf(stack).filter(({ address }) => {
    const recorded = state.vms[address];
    return recorded?.phase === 'creating' && !isStuck(observed.locks.get(recorded.vmid));
  });
}
