/** Shared by the plans of VMs and templates: which machines are created or half created, and the tokens that others depend on. Pure. */
import { type Address, keptAddress, replacedAddress } from '../../../base/address.ts';
import { type Change, UNDETAILED } from '../../change.ts';
import type { PlanContext, Unfinished } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { recordedMachines, type StackState } from '../../recorded.ts';
import { machinesOf, type ResolvedStack } from '../../stack.ts';
import { sourceVolumes } from '../config/disks.ts';
import { isStuck } from '../lock.ts';
import type { ResolvedVm } from '../stack.ts';

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
export function unfinishedMachines(stack: ResolvedStack, state: StackState, observed: Observed): Unfinished {
  const unfinished = machinesOf(stack).filter(({ address }) => {
    const recorded = state.vms[address];
    return recorded?.phase === 'creating' && !isStuck(observed.locks.get(recorded.vmid));
  });
  const addresses = new Set(unfinished.map(({ address }) => address));
  // Together with the holders of their kept disks: apply decides about both.
  const left = new Set([...addresses].flatMap((each) => [each, keptAddress(each), replacedAddress(each)]));
  return {
    changes: unfinished.map((vm) => completion(vm, state)),
    stack: {
      ...stack,
      vms: stack.vms.filter(({ address }) => !addresses.has(address)),
      templates: stack.templates.filter(({ vm }) => !addresses.has(vm.address)),
    },
    state: { ...state, vms: Object.fromEntries(recordedMachines(state).filter(([address]) => !left.has(address))) },
  };
}

function completion({ address, fields }: ResolvedVm, state: StackState): Change {
  return {
    address,
    kind: 'complete',
    name: fields.name,
    node: state.vms[address]?.node || fields.node,
    vmid: state.vms[address]?.vmid || fields.vmid,
    reason: 'An earlier run was creating it; apply finds out how far it got and completes it.',
    ...UNDETAILED,
  };
}
