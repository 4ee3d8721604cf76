/**
 * Machines that an unfinished run was creating. Only apply finds out how they ended, so a command that only reads leaves
 * them out of its plan. A lock that no task holds is known now, and the plan refuses it by name.
 */

import type { Observed } from '../observed.ts';
import type { StackState } from '../recorded.ts';
import { machinesOf, type ResolvedStack, type ResolvedVm } from '../stack.ts';
import { isStuck } from './lock.ts';

export function unfinishedMachines(stack: ResolvedStack, state: StackState, observed: Observed): ResolvedVm[] {
  return machinesOf(stack).filter(({ address }) => {
    const recorded = state.vms[address];
    return recorded?.phase === 'creating' && !isStuck(observed.locks.get(recorded.vmid));
  });
}
