/** VMs whose address changed because their group was renamed (`formerly`). Pure. */
import type { Address } from '../../../base/address.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../../stack.ts';
import type { VmRecord } from '../record.ts';

/** The address under which the state still has this VM, if its group was renamed since. */
export function formerAddress(vm: ResolvedVm | undefined, state: StackState): Address | undefined {
  if (!vm || state.vms[vm.address]) return undefined;
  return vm.formerly.find((address) => state.vms[address]);
}

/** The state with every VM under its present address in the file. */
export function withMoves(stack: ResolvedStack, state: StackState): StackState {
  const vms: Record<string, VmRecord> = { ...state.vms };
  for (const vm of stack.vms) {
    const from = formerAddress(vm, state);
    const moved = from && vms[from];
    if (!moved) continue;
    delete vms[from];
    vms[vm.address] = moved;
  }
  return { ...state, vms };
}
