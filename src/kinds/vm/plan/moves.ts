/** VMs whose address changed because their group was renamed (`formerly`). Pure. */
import type { Address } from '../../../base/address.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { VmRecord } from '../record.ts';

/** The renames that the state does not show yet. */
export function movesOf(stack: ResolvedStack, state: StackState): { from: Address; to: Address }[] {
  return stack.vms.flatMap((vm) => {
    if (state.vms[vm.address]) return [];
    const from = vm.formerly.find((address) => state.vms[address]);
    return from ? [{ from, to: vm.address }] : [];
  });
}

/** The state with every VM under its present address in the file. */
export function withMoves(stack: ResolvedStack, state: StackState): StackState {
  const vms: Record<string, VmRecord> = { ...state.vms };
  for (const { from, to } of movesOf(stack, state)) {
    const moved = vms[from];
    delete vms[from];
    if (moved) vms[to] = moved;
  }
  return { ...state, vms };
}
