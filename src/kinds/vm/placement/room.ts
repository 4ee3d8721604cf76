/** The memory and cores that nodes have left: now, and after a plan. From what the cluster lists and what the stack will start. Pure. */

import type { NodeRoom } from '../../change.ts';
import type { Findings, ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { propertyOf } from '../config/parts.ts';
import type { VmFields } from '../fields/index.ts';
import { effectiveValues } from '../observed.ts';
import { baseOf } from '../plan/checks/addresses.ts';
import { placesOf, roomKey } from '../plan/checks/room.ts';
import type { ResolvedVm } from '../stack.ts';
import { isVmStep, vmSteps } from '../steps.ts';
import { NODE_NOT_CHOSEN } from './candidates.ts';
import { byName, type PlacementNode } from './ledger.ts';

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

const MIB = 1024 ** 2;
/** Proxmox's default. */
const DEFAULT_MEMORY_MIB = 512;

/** What a VM takes of its node while it runs. */
export interface Load {
  readonly memoryBytes: number;
  readonly cores: number;
}

/** From the file, else from the VM or the template that it is cloned from. */
export function loadOf({ memory, cpu }: Pick<VmFields, 'memory' | 'cpu'>, base: ReadonlyMap<string, string>): Load {
  const inheritedMib = Number(propertyOf('memory', base.get('memory')).get('current') ?? DEFAULT_MEMORY_MIB);
  const cores = cpu?.cores ?? Number(base.get('cores') ?? 1);
  const sockets = cpu?.sockets ?? Number(base.get('sockets') ?? 1);
  return { memoryBytes: memory ?? inheritedMib * MIB, cores: cores * sockets };
}

/**
 * What the nodes have free before and after a plan. Nodes on which nothing changes are left out. A shared storage is with each
 * node that uses it, with what all of them take.
 */
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
  observed: Observed,
  neededBytes: Findings['neededBytes'],
): ReadonlyMap<string, NonNullable<NodeRoom['storages']>> {
  const found = new Map<string, { storage: string; freeBytes: number; freeAfterBytes: number }[]>();
  const places = new Map(placesOf(neededBytes, observed).map((place) => [place.key, place]));
  for (const key of neededBytes.keys()) {
    const [node = '', storage = ''] = key.split('/');
    const { row, bytes = 0 } = places.get(roomKey(key, observed)) ?? {};
    const freeBytes = row?.availableBytes;
    if (freeBytes === undefined) continue;
    found.set(node, [...(found.get(node) ?? []), { storage, freeBytes, freeAfterBytes: freeBytes - bytes }]);
  }
  return found;
}
