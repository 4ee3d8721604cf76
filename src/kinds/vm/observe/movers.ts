/** VMs that are to move, and what ties them to their nodes as far as only the server knows it. */
import type { Address } from '../../../base/address.ts';
import { hasCode } from '../../../base/errors.ts';
import type { Pve } from '../../../pve/client.ts';
import type { ObserveContext } from '../../kind.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { VmObserved } from '../observed.ts';
import { migrates } from '../plan/migration.ts';
import { hasVncClipboard } from '../relocate/obstacles.ts';
import type { ObservedVm } from './observed-vms.ts';

/** VMs that the command moves, or that the file moves to another node. */
export function moversOf(
  { relocates, state }: Pick<ObserveContext, 'relocates' | 'state'>,
  stack: ResolvedStack,
  vms: ReadonlyMap<Address, ObservedVm>,
): VmObserved[] {
  const desired = new Map(stack.vms.map((vm) => [vm.address, vm]));
  return [...vms].flatMap(([address, found]) => {
    if (found.kind !== 'present') return [];
    const vm = desired.get(address);
    return relocates || (vm && migrates(vm, state.vms[address], found.vm)) ? [found.vm] : [];
  });
}

/** By id. Without VM.Migrate nothing moves, and the plan says so; such VMs are left out. */
export async function readLocalResources(
  pve: Pve,
  movers: readonly VmObserved[],
  signal: AbortSignal | undefined,
): Promise<Map<number, readonly string[]>> {
  const unsure = movers.filter((vm) => vm.running && hasVncClipboard(vm));
  const reads = await Promise.all(
    unsure.map(async ({ node, vmid }) => {
      try {
        const { local_resources: names = [] } = await pve.node(node).vm(vmid).migratability({ signal });
        return [[vmid, names] as const];
      } catch (error) {
        if (hasCode(error, 'PRIVILEGE_MISSING')) return [];
        throw error;
      }
    }),
  );
  return new Map(reads.flat());
}
