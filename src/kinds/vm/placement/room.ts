/** The memory and cores that nodes have left, from what the cluster lists and what the stack will start. Pure. */
import type { Observed } from '../../observed.ts';
import type { ResolvedStack } from '../../stack.ts';
import { effectiveValues } from '../observed.ts';
import { baseOf } from '../plan/checks/addresses.ts';
import type { ResolvedVm } from '../stack.ts';
import { NODE_NOT_CHOSEN } from './candidates.ts';
import type { PlacementNode } from './ledger.ts';
import { type Load, loadOf } from './load.ts';

/** VMs of the stack that have a node and will be started count as running there. */
export function nodesWithRoom(stack: Pick<ResolvedStack, 'vms' | 'zones'>, observed: Observed): PlacementNode[] {
  const zones = zonesByNode(stack);
  const loads = runningLoads(observed);
  for (const vm of stack.vms)
    if (isToStart(vm, observed)) add(loads, vm.fields.node, loadOf(vm.fields, baseOf(vm, observed)));
  return [...observed.nodes].map(([name, { memory, cores }]) => {
    const load = loads.get(name) ?? NOTHING;
    // Guests that the token may not see, and the host itself, are part of what is in use now.
    const taken = memory && Math.max(memory.usedBytes, load.memoryBytes);
    return {
      name,
      zone: zones.get(name),
      ...(memory &&
        taken !== undefined && { memory: { totalBytes: memory.totalBytes, freeBytes: memory.totalBytes - taken } }),
      ...(cores !== undefined && { cores: { total: cores, used: load.cores } }),
    };
  });
}

export function zonesByNode({ zones = [] }: Pick<ResolvedStack, 'zones'>): ReadonlyMap<string, string> {
  return new Map(zones.flatMap(({ name, nodes }) => nodes.map(({ node }) => [node, name] as const)));
}

const NOTHING: Load = { memoryBytes: 0, cores: 0 };

/** The list of guests lags by some seconds, so VMs of the stack count as just read. */
function runningLoads({ guests, vms }: Observed): Map<string, Load> {
  const loads = new Map<string, Load>();
  const own = new Map(
    [...vms.values()].flatMap((found) => (found.kind === 'present' ? [[found.vm.vmid, found.vm] as const] : [])),
  );
  for (const { vmid, node, running, memoryBytes = 0, cores = 0 } of guests.values()) {
    if (running && !own.has(vmid)) add(loads, node, { memoryBytes, cores });
  }
  for (const vm of own.values()) if (vm.running) add(loads, vm.node, loadOf({}, effectiveValues(vm)));
  return loads;
}

/** Created by the plan, or stopped and to be started. */
function isToStart(vm: ResolvedVm, { vms }: Observed): boolean {
  const found = vms.get(vm.address);
  if (vm.fields.node === NODE_NOT_CHOSEN || vm.fields.power !== 'running') return false;
  return !(found?.kind === 'present' && found.vm.running);
}

function add(loads: Map<string, Load>, node: string, { memoryBytes, cores }: Load): void {
  const known = loads.get(node) ?? NOTHING;
  loads.set(node, { memoryBytes: known.memoryBytes + memoryBytes, cores: known.cores + cores });
}
