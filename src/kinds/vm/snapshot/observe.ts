/** Reads the snapshots of VMs, where a command is about them or the plan of a VM depends on them. */
import { type Address, covers } from '../../../base/address.ts';
import { isNotFound, type Pve } from '../../../pve/index.ts';
import { type Readable, readIfAllowed } from '../../cluster.ts';
import type { ObserveContext } from '../../kind.ts';
import type { ResolvedStack } from '../../stack.ts';
import { parseDrive } from '../config/disks.ts';
import type { ObservedVm } from '../observe/observed-vms.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { namesNewPlaces } from '../plan/checks/new-places.ts';
import type { ResolvedVm } from '../stack.ts';
import { snapshotPolicy } from './before-change.ts';
import { snapshotsIn, type VmSnapshots } from './snapshots.ts';

/** By address; a VM that is not in it was not asked about. */
export async function observeSnapshots(
  context: ObserveContext,
  stack: Pick<ResolvedStack, 'vms'>,
  vms: ReadonlyMap<Address, ObservedVm>,
): Promise<Map<Address, Readable<VmSnapshots>>> {
  const desired = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const reads = [...vms].map(async ([address, found]) => {
    const depth = found.kind === 'present' ? depthOf(address, desired.get(address), found.vm, context) : 'none';
    if (found.kind !== 'present' || depth === 'none') return undefined;
    const read = await readSnapshots(context.pve, found.vm, depth === 'deep', context.signal);
    return read && ([address, read] as const);
  });
  return new Map((await Promise.all(reads)).filter((each) => each !== undefined));
}

/** Nodes with a VM that Proxmox takes no snapshot of: the types of their storages say why. */
export function withoutSnapshots(
  snapshots: ReadonlyMap<Address, Readable<VmSnapshots>>,
  vms: ReadonlyMap<Address, ObservedVm>,
): string[] {
  return [...snapshots].flatMap(([address, read]) => {
    const found = vms.get(address);
    return read.ok && !read.value.isPossible && found?.kind === 'present' ? [found.vm.node] : [];
  });
}

/** `deep`: with the configuration in each snapshot. */
function depthOf(
  address: Address,
  desired: ResolvedVm | undefined,
  vm: VmObserved,
  { snapshots }: ObserveContext,
): 'none' | 'list' | 'deep' {
  if (snapshots) {
    const isAsked = snapshots.only.length === 0 || snapshots.only.some((selector) => covers(selector, address));
    return !isAsked || !address.startsWith('vm.') ? 'none' : snapshots.withConfigs ? 'deep' : 'list';
  }
  if (!desired) return 'none';
  const isGuarded = vm.running && snapshotPolicy(desired.fields) !== undefined;
  // Every snapshot that a disk of the present configuration can be part of is an ancestor of it.
  const holdsDisks = vm.current.has('parent') && takesDisks(desired, vm);
  return holdsDisks ? 'deep' : isGuarded ? 'list' : 'none';
}

/** Whether the file moves or removes a disk of the VM. */
function takesDisks(desired: ResolvedVm, vm: VmObserved): boolean {
  const values = effectiveValues(vm);
  const disks = Object.entries(desired.fields.disks ?? {});
  const isRemoved = disks.some(([slot, { remove }]) => remove === true && values.has(slot));
  const isConverted = disks.some(([slot, { format }]) => {
    const text = values.get(slot);
    return format !== undefined && text !== undefined && !parseDrive(slot, text).file.endsWith(`.${format}`);
  });
  return isRemoved || isConverted || namesNewPlaces(desired, vm);
}

/** Missing privileges become part of the result; undefined if the VM is gone. */
async function readSnapshots(
  pve: Pve,
  { node, vmid }: Pick<VmObserved, 'node' | 'vmid'>,
  withConfigs: boolean,
  signal: AbortSignal | undefined,
): Promise<Readable<VmSnapshots> | undefined> {
  const vm = pve.node(node).vm(vmid);
  const read = async () => {
    const [entries, { hasFeature = false }] = await Promise.all([
      vm.snapshots.list({ signal }),
      vm.feature('snapshot', {}, { signal }),
    ]);
    const list = snapshotsIn(entries);
    const configs = await Promise.all((withConfigs ? list : []).map(({ name }) => configOf(vm, name, signal)));
    return { list, isPossible: hasFeature, configs: new Map(configs.flat()) };
  };
  try {
    return await readIfAllowed(read, `VM.Audit on /vms/${vmid}`);
  } catch (error) {
    if (isNotFound(error, 'guest')) return undefined;
    throw error;
  }
}

type VmHandle = ReturnType<ReturnType<Pve['node']>['vm']>;

/** Nothing for a snapshot that was deleted meanwhile. */
async function configOf(
  vm: VmHandle,
  name: string,
  signal: AbortSignal | undefined,
): Promise<(readonly [string, ReadonlyMap<string, string>])[]> {
  try {
    const { values } = await vm.config.get({ snapshot: name }, { signal });
    return [[name, values]];
  } catch (error) {
    if (isNotFound(error, 'snapshot')) return [];
    throw error;
  }
}
