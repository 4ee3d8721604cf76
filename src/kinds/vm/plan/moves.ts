/** VMs whose address changed because their group was renamed (`formerly`). Pure. */
import { type Address, keptAddress, replacedAddress } from '../../../base/address.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';

/** The address under which the state still has this VM, if its group was renamed since. */
export function formerAddress(vm: ResolvedVm | undefined, state: StackState): Address | undefined {
  if (!vm || state.vms[vm.address]) return undefined;
  const isKnown = (address: Address) =>
    state.vms[address] ?? state.vms[keptAddress(address)] ?? state.vms[replacedAddress(address)];
  return vm.formerly.find(isKnown);
}

/** What is recorded of a VM, of the one that holds its kept disks, and of the one it replaces: address before and after. */
export function movedRecords(from: Address, to: Address): [Address, Address][] {
  return [
    [from, to],
    [keptAddress(from), keptAddress(to)],
    [replacedAddress(from), replacedAddress(to)],
  ];
}

/** The state with every VM under its present address in the file. */
export function withMoves(stack: ResolvedStack, state: StackState): StackState {
  const vms: Record<string, VmRecord> = { ...state.vms };
  for (const vm of stack.vms) {
    const former = formerAddress(vm, state);
    if (!former) continue;
    for (const [from, to] of movedRecords(former, vm.address)) {
      const moved = vms[from];
      if (!moved) continue;
      delete vms[from];
      vms[to] = moved;
    }
  }
  return { ...state, vms };
}
