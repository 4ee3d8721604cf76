/** What the nodes have free before and after a plan, from the steps of its VMs. Pure. */
import type { NodeRoom } from '../../change.ts';
import type { Findings, ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { effectiveValues } from '../observed.ts';
import { baseOf } from '../plan/checks/addresses.ts';
import type { ResolvedVm } from '../stack.ts';
import { isVmStep, vmSteps } from '../steps.ts';
import { byName } from './ledger.ts';
import { loadOf } from './load.ts';
import { nodesWithRoom } from './room.ts';

/** Nodes on which nothing changes are left out; a shared storage counts for each node that uses it. */
export function roomAfter(
  resources: readonly ResourcePlan[],
  stack: Pick<ResolvedStack, 'vms'>,
  observed: Observed,
  { neededBytes }: Pick<Findings, 'neededBytes'>,
): NodeRoom[] {
  const taken = memoryTaken(resources, stack, observed);
  const now = new Map(nodesWithRoom({ vms: [] }, observed).map((node) => [node.name, node.memory]));
  const storages = storagesTaken(observed, neededBytes);
  const nodes = [...new Set([...taken.keys(), ...storages.keys()])].sort(byName);
  return nodes.flatMap((node): NodeRoom[] => {
    const [memory, bytes, stores] = [now.get(node), taken.get(node) ?? 0, storages.get(node)];
    if ((!memory || bytes === 0) && !stores) return [];
    return [
      {
        node,
        ...(memory && bytes !== 0 && { memory: { ...memory, freeAfterBytes: memory.freeBytes - bytes } }),
        ...(stores && { storages: stores }),
      },
    ];
  });
}

/** By node: what starts or grows there, less what stops, moves away or is destroyed. */
function memoryTaken(
  resources: readonly ResourcePlan[],
  { vms }: Pick<ResolvedStack, 'vms'>,
  observed: Observed,
): ReadonlyMap<string, number> {
  const desired = new Map(vms.map((vm) => [vm.address, vm]));
  const taken = new Map<string, number>();
  const add = (node: string, bytes: number) => taken.set(node, (taken.get(node) ?? 0) + bytes);
  for (const { change, steps } of resources) {
    if (!change || steps.length === 0) continue;
    const found = observed.vms.get(change.address);
    const actual = found?.kind === 'present' ? found.vm : undefined;
    const vm = desired.get(change.address);
    if (actual?.running) add(actual.node, -loadOf({}, effectiveValues(actual)).memoryBytes);
    if (!runsAfter(steps, actual?.running === true)) continue;
    const isReplaced = steps.some(({ action }) => action === 'vm.destroy');
    const stays = actual && !isReplaced ? actual.node : (vm?.fields.node ?? change.node);
    add(targetOf(steps) ?? stays, memoryOf(vm, actual && effectiveValues(actual), observed));
  }
  return taken;
}

function memoryOf(
  vm: ResolvedVm | undefined,
  values: ReadonlyMap<string, string> | undefined,
  observed: Observed,
): number {
  return loadOf(vm?.fields ?? {}, vm ? baseOf(vm, observed) : (values ?? new Map())).memoryBytes;
}

function runsAfter(steps: readonly Step[], isRunning: boolean): boolean {
  const last = steps.findLast(
    (step) =>
      STARTS.has(step.action) || step.action === 'vm.destroy' || (isVmStep(step, 'vm.stop') && !step.input.forNow),
  );
  return last ? STARTS.has(last.action) : isRunning;
}

const STARTS: ReadonlySet<string> = new Set(['vm.start', 'vm.restart']);

function targetOf(steps: readonly Step[]): string | undefined {
  return vmSteps(steps, 'vm.migrate')[0]?.input.target;
}

function storagesTaken(
  { storages }: Observed,
  neededBytes: Findings['neededBytes'],
): ReadonlyMap<string, NonNullable<NodeRoom['storages']>> {
  const found = new Map<string, { storage: string; freeBytes: number; freeAfterBytes: number }[]>();
  for (const [key, { bytes }] of neededBytes) {
    const [node = '', storage = ''] = key.split('/');
    const rows = storages.get(node);
    const freeBytes = rows?.ok ? rows.value.find((row) => row.storage === storage)?.availableBytes : undefined;
    if (freeBytes === undefined) continue;
    found.set(node, [...(found.get(node) ?? []), { storage, freeBytes, freeAfterBytes: freeBytes - bytes }]);
  }
  return found;
}
