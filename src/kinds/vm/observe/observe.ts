/**
 * Reads machines, that is VMs and templates, concurrently: one read per recorded machine, one list per node, one read per
 * template to clone, and one per guest that may be a lost VM of this stack. Bridges and storages of a node are read only
 * when a VM is created there, or names one that it does not use yet.
 */
import { type Address, covers } from '../../../base/address.ts';
import { hasCode } from '../../../base/errors.ts';
import type { Pve } from '../../../pve/client.ts';
import { type GuestRow, MAX_AGE_MS, type Readable } from '../../cluster.ts';
import { PlannedIds } from '../../ids.ts';
import type { ObserveContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { recordedMachines, type StackState } from '../../recorded.ts';
import { machinesOf, type ResolvedStack } from '../../stack.ts';
import { outdatedTemplates, type Secrets } from '../../template/recipe.ts';
import { observeLocks } from '../lock.ts';
import { effectiveValues, readVm, type VmObserved } from '../observed.ts';
import { candidatesOf } from '../placement/candidates.ts';
import { withKnownNodes } from '../placement/place.ts';
import { newAddresses } from '../plan/checks/addresses.ts';
import { possibleClaimants } from '../plan/checks/lost-vms.ts';
import { namesNewPlaces } from '../plan/checks/new-places.ts';
import { givesCpuModel, isCustomModel } from '../plan/checks/processors.ts';
import { followsTemplate } from '../plan/replace/template-change.ts';
import type { VmRecord } from '../record.ts';
import { observeSnapshots, withoutSnapshots } from '../snapshot/observe.ts';
import type { ResolvedVm } from '../stack.ts';
import { observeHa, readHa } from './ha.ts';
import { moversOf, readLocalResources } from './movers.ts';
import { AskedPermissions, readNeighbours } from './neighbours.ts';
import type { CpuModels, ObservedVm } from './observed-vms.ts';
import { observeDirectories } from './shared-directories.ts';
import { readable, readTemplates, referencesOf, withNames } from './templates.ts';

/** VMs and templates: a template is a VM until it is converted, and is recorded as one. */
export async function observeMachines(context: ObserveContext): Promise<Partial<Observed>> {
  const { pve, state, signal, replace, secrets, nodes } = context;
  const known = recordedMachines(state).filter(([, vm]) => vm.phase !== 'creating');
  const running = await runningByNode(pve, nodesOf(known, context.guests, nodes), signal);
  const vms = await readKnown(pve, known, context.guests, running, signal);
  // An existing VM whose node the plan chose stays where it is.
  const stack = withKnownNodes(context.stack, state, { vms });
  const built = [...replace, ...templatesToBuild(stack, state, secrets)];
  const isRebuilt = (address: Address) => built.some((selector) => covers(selector, address));
  const followers = stack.vms.filter((vm) => followsTemplate(vm, { stack, state, guests: context.guests, isRebuilt }));
  const rebuilt = [...built, ...followers.map(({ address }) => address)];
  const toMake = machinesOf(stack).filter(
    ({ address }) => isAbsent(vms.get(address)) || rebuilt.some((selector) => covers(selector, address)),
  );
  const references = referencesOf(toMake, stack);
  const guests = await withNames(context, references);
  const asked = new AskedPermissions(pve, signal);
  const seesAll = () => asked.seesAllVms();
  const snapshots = await observeSnapshots(context, stack, vms);
  const movers = moversOf(context, stack, vms);
  const left = movers.map(({ node }) => node).filter((node) => nodes.get(node)?.online);
  const toCheck = context.relocates
    ? online(nodes)
    : [...new Set([...nodesToCheck(toMake, stack, vms, nodes), ...left, ...withoutSnapshots(snapshots, vms)])];
  const [
    templates,
    storages,
    bridges,
    ha,
    localResources,
    directories,
    ids,
    pools,
    cpuModels,
    claimants,
    begun,
    neighbours,
  ] = await Promise.all([
    readTemplates(pve, references, guests, signal),
    readPerNode(toCheck, (node) => context.storages(node)),
    readPerNode(toCheck, (node) => readBridges(pve, node, signal)),
    movers.length > 0 || context.relocates || context.snapshots
      ? readHa(pve, signal).then((read) => ({ ha: read }))
      : observeHa(pve, stack, signal),
    readLocalResources(pve, movers, signal),
    observeDirectories(context, machinesOf(stack)),
    readIds(context, toMake, seesAll),
    readPools(context, toMake),
    readCpuModels(context, toMake, vms),
    readClaimants(pve, possibleClaimants(toMake, stack.vms, state, guests), signal),
    readClaimants(pve, beingMade(state, guests), signal),
    needsNeighbours(context, toMake, vms) ? readNeighbours({ pve, state, nodes, guests, signal, seesAll }) : undefined,
  ]);
  const present = [...vms.values()].flatMap((found) => (found.kind === 'present' ? [found.vm] : []));
  const locks = await observeLocks({ pve, signal }, [...present, ...claimants.values(), ...begun.values()]);
  const permissions = await asked.answer;
  return {
    guests,
    vms,
    templates,
    storages,
    bridges,
    ...ha,
    ...(localResources.size > 0 && { localResources }),
    ...directories,
    ...ids,
    pools,
    ...(cpuModels && { cpuModels }),
    claimants,
    locks,
    ...(snapshots.size > 0 && { snapshots }),
    ...(neighbours && { neighbours }),
    ...(permissions && { permissions }),
  };
}

/** Guests with the id of a VM whose creation an earlier run began and did not finish. */
function beingMade(state: StackState, guests: ReadonlyMap<number, GuestRow>): GuestRow[] {
  return Object.values(state.vms).flatMap(({ phase, vmid }) => {
    const row = phase === 'creating' ? guests.get(vmid) : undefined;
    return row?.type === 'qemu' ? [row] : [];
  });
}

/** Every token may ask about one pool by name. */
async function readPools({ pve, signal }: ObserveContext, machines: readonly ResolvedVm[]) {
  const names = new Set(machines.flatMap(({ fields }) => fields.pool ?? []));
  return readPerNode([...names], async (name): Promise<Readable<boolean>> => {
    const read = await readable(() => pve.pools.get(name, { signal }), `Pool.Audit on /pool/${name}`);
    if (read === 'absent') return { ok: true, value: false };
    return read.ok ? { ok: true, value: read.value !== undefined } : read;
  });
}

/** Custom models are listed only with Sys.Audit on /nodes, so a list without any says nothing about them. */
async function readCpuModels(
  { pve, stack, nodes, signal }: ObserveContext,
  toMake: readonly ResolvedVm[],
  vms: ReadonlyMap<Address, ObservedVm>,
): Promise<CpuModels | undefined> {
  const changed = stack.vms.filter(({ address, fields }) => {
    const found = vms.get(address);
    return found?.kind === 'present' && givesCpuModel(fields.cpu, effectiveValues(found.vm));
  });
  const named = [...toMake.filter(({ fields }) => fields.cpu?.type !== undefined), ...changed];
  const node = named.find(({ fields }) => nodes.get(fields.node)?.online)?.fields.node;
  if (node === undefined) return undefined;
  const models = await pve.node(node).cpuModels({ signal, maxAgeMs: MAX_AGE_MS.places });
  const names = new Set(models.map(({ name }) => name));
  const isOpen = ({ fields }: ResolvedVm) => isCustomModel(fields.cpu?.type) && !names.has(fields.cpu?.type ?? '');
  if (pve.principal === 'root@pam' || !named.some(isOpen)) return { names, customs: { ok: true } };
  const granted = await pve.access.permissions({ path: '/nodes' }, { signal, maxAgeMs: MAX_AGE_MS.grants });
  const isShown = granted['/nodes']?.['Sys.Audit'] === true;
  return { names, customs: isShown ? { ok: true } : { ok: false, needs: 'Sys.Audit on /nodes' } };
}

/** Whether the plan assigns an address, which another VM may have. */
function needsNeighbours(
  { neighbours, stack, state }: ObserveContext,
  toMake: readonly ResolvedVm[],
  vms: ReadonlyMap<Address, ObservedVm>,
): boolean {
  if (neighbours !== 'as-needed') return neighbours === 'always';
  const made = new Set(toMake);
  return stack.vms.some((vm) => {
    const found = made.has(vm) ? undefined : vms.get(vm.address);
    const existing = found?.kind === 'present' ? { vm: found.vm, recorded: state.vms[vm.address] } : undefined;
    return newAddresses(vm, existing).length > 0;
  });
}

/** Templates that no run has finished, or whose recipe changed. */
function templatesToBuild(stack: ResolvedStack, state: StackState, secrets: Secrets = new Map()): Address[] {
  const unfinished = stack.templates.flatMap(({ vm: { address } }) =>
    state.vms[address]?.template?.finished ? [] : [address],
  );
  return [...unfinished, ...outdatedTemplates(stack, (address) => state.vms[address], secrets)];
}

/** Nodes with VMs of ours; one list per node shows which of them run. */
function nodesOf(
  known: readonly (readonly [Address, VmRecord])[],
  guests: ReadonlyMap<number, GuestRow>,
  nodes: ReadonlyMap<string, { online: boolean }>,
): string[] {
  const names = new Set(known.map(([, vm]) => guests.get(vm.vmid)?.node ?? vm.node));
  return [...names].filter((name) => nodes.get(name)?.online ?? true);
}

async function runningByNode(
  pve: Pve,
  nodes: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<number>> {
  const lists = await Promise.all(nodes.map((node) => pve.node(node).vms.list({}, { signal })));
  const [only] = lists;
  return only && lists.length === 1 ? runningIn(only) : new Set(lists.flatMap((list) => [...runningIn(list)]));
}

type VmRows = Awaited<ReturnType<ReturnType<Pve['node']>['vms']['list']>>;

/** The resources of a provider process share one list, and read its rows once. */
const knownRunning = new WeakMap<VmRows, ReadonlySet<number>>();

function runningIn(rows: VmRows): ReadonlySet<number> {
  const running =
    knownRunning.get(rows) ?? new Set(rows.flatMap(({ status, vmid }) => (status === 'running' ? [vmid] : [])));
  knownRunning.set(rows, running);
  return running;
}

async function readKnown(
  pve: Pve,
  known: readonly (readonly [Address, VmRecord])[],
  guests: ReadonlyMap<number, GuestRow>,
  running: ReadonlySet<number>,
  signal: AbortSignal | undefined,
): Promise<Map<Address, ObservedVm>> {
  const entries = await Promise.all(
    known.map(async ([address, vm]): Promise<[Address, ObservedVm]> => {
      const node = guests.get(vm.vmid)?.node ?? vm.node;
      return [address, await readOne(pve, node, vm.vmid, running.has(vm.vmid), signal)];
    }),
  );
  return new Map(entries);
}

async function readOne(
  pve: Pve,
  node: string,
  vmid: number,
  running: boolean,
  signal: AbortSignal | undefined,
): Promise<ObservedVm> {
  const read = await readable(() => readVm(pve, node, vmid, { running, signal }), `VM.Audit on /vms/${vmid}`);
  if (read === 'absent') return { kind: 'gone' };
  return read.ok ? { kind: 'present', vm: read.value } : { kind: 'hidden', needs: read.needs };
}

/** Their notes decide whether they are ours. Guests that the token may not read are left out. */
async function readClaimants(
  pve: Pve,
  rows: readonly GuestRow[],
  signal: AbortSignal | undefined,
): Promise<Map<number, VmObserved>> {
  const reads = await Promise.all(rows.map(({ node, vmid }) => readOne(pve, node, vmid, false, signal)));
  return new Map(reads.flatMap((read) => (read.kind === 'present' ? [[read.vm.vmid, read.vm] as const] : [])));
}

const isAbsent = (observedVm: ObservedVm | undefined) => observedVm === undefined || observedVm.kind === 'gone';

/** Online nodes on which the plan creates something, or uses a new place. */
function nodesToCheck(
  toMake: readonly ResolvedVm[],
  stack: ResolvedStack,
  vms: ReadonlyMap<Address, ObservedVm>,
  nodes: Observed['nodes'],
): string[] {
  const moving = stack.vms.filter((vm) => {
    const observedVm = vms.get(vm.address);
    return observedVm?.kind === 'present' && namesNewPlaces(vm, observedVm.vm);
  });
  const names = new Set([...toMake, ...moving].flatMap((vm) => candidatesOf(vm, nodes)));
  return [...names].filter((name) => nodes.get(name)?.online);
}

function online(nodes: ReadonlyMap<string, { online: boolean }>): string[] {
  return [...nodes].flatMap(([name, node]) => (node.online ? [name] : []));
}

async function readPerNode<Value>(
  nodes: readonly string[],
  read: (node: string) => Promise<Value>,
): Promise<Map<string, Value>> {
  return new Map(await Promise.all(nodes.map(async (node): Promise<[string, Value]> => [node, await read(node)])));
}

async function readBridges(
  pve: Pve,
  node: string,
  signal: AbortSignal | undefined,
): Promise<Readable<ReadonlySet<string>>> {
  const rows = await pve.node(node).network({ type: 'any_bridge' }, { signal, maxAgeMs: MAX_AGE_MS.places });
  // Only bridges the token may use are listed, so an empty list says nothing.
  if (rows.length === 0) return { ok: false, needs: 'SDN.Use or SDN.Audit on the bridges' };
  return { ok: true, value: new Set(rows.map((row) => row.iface)) };
}

/**
 * Which of the IDs that the plan will choose are taken by guests that the token does not see: `nextid?vmid=` counts them too.
 * A token that sees every guest need not ask.
 */
async function readIds(
  context: ObserveContext,
  machines: readonly ResolvedVm[],
  seesAll: () => Promise<boolean>,
): Promise<Pick<Observed, 'takenIds' | 'nextId'>> {
  const { pve, stack, state, guests, signal, choosesIds } = context;
  const mayBeAny = choosesIds && machines.some(({ fields, vmids }) => fields.vmid === undefined && !vmids);
  const next = mayBeAny ? { nextId: await pve.cluster.nextid({ signal }) } : {};
  const takenIds = new Set(
    machines.flatMap(({ fields: { vmid } }) => (vmid !== undefined && guests.has(vmid) ? vmid : [])),
  );
  const asked = new Set<number>([...takenIds, ...Object.values(next)]);
  // Each round asks about the IDs that would be chosen, given the answers so far.
  for (;;) {
    const ids = new PlannedIds({
      machines: machinesOf(stack),
      state,
      observed: { guests, takenIds, ...next },
      isActive: choosesIds,
    });
    const chosen = machines.map((vm) => ids.choose(vm)).filter((id) => typeof id === 'number');
    const open = [...new Set(chosen)].filter((vmid) => !asked.has(vmid));
    const isKnown = open.length === 0 || (await seesAll());
    if (isKnown) return { takenIds, ...next };
    const answers = await Promise.all(open.map((vmid) => isFree(pve, vmid, signal)));
    for (const [index, vmid] of open.entries()) {
      asked.add(vmid);
      if (!answers[index]) takenIds.add(vmid);
    }
  }
}

async function isFree(pve: Pve, vmid: number, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await pve.cluster.assertFree(vmid, { signal });
    return true;
  } catch (error) {
    if (hasCode(error, 'VMID_TAKEN')) return false;
    if (hasCode(error, 'ALREADY_EXISTS')) return false;
    throw error;
  }
}
