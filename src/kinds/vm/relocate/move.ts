/** The steps that move one VM, and what a plan says about them. Pure. */
import { printByteSize } from '../../../base/values/units.ts';
import { type Change, UNDETAILED } from '../../change.ts';
import type { RelocateContext, ResourcePlan } from '../../kind.ts';
import type { Step } from '../../step.ts';
import { packDesired } from '../config/packed.ts';
import { stillAppliedHa } from '../ha.ts';
import { applied, desiredOfExisting, readyStep } from '../plan/desired-vm.ts';
import { vmStep } from '../steps.ts';
import { copiedVolumes, isManagedByHa, type Mover, storedDrives } from './obstacles.ts';
import { isLeftStopped, isPinned, type Resident } from './residents.ts';

export interface MoveRequest {
  readonly target: string;
  /** One sentence. */
  readonly why: string;
  /** Why this node: `41GiB free, fewest of this group`. */
  readonly choice: string;
}

export function moveOf(
  resident: Resident,
  { target, why, choice }: MoveRequest,
  context: RelocateContext,
): ResourcePlan {
  const { address, vm, restarts } = resident;
  const { relocation, targetStorage } = context;
  const migrate = vmStep(address, 'vm.migrate', {
    target,
    from: vm.node,
    because: relocation.kind,
    ...(targetStorage !== undefined && { storage: targetStorage }),
  });
  const stop = vmStep(address, 'vm.stop', { how: 'shutdown', forNow: true });
  const steps = restarts ? inAndOut(resident, [...(vm.running ? [stop] : []), migrate], context) : [migrate];
  const notes = [
    `${target}: ${choice}`,
    howItMoves(resident),
    ...copiesNote(resident, target, context),
    ...storageNotes(resident, context),
    ...fileNote(resident, target),
  ];
  return { change: { ...changeOf(resident, why), restarts: restarts && vm.running, notes }, steps: chained(steps) };
}

/** An earlier run ended between the stop and the start of a VM that has moved already. */
export function restartOf(resident: Resident, context: RelocateContext): ResourcePlan[] {
  const { vm, desired, recorded } = resident;
  if (!isLeftStopped(vm, desired, recorded) || !context.isSelected(resident.address)) return [];
  const change = changeOf(resident, 'An earlier run shut it down to move it; it is started again.');
  return [{ change, steps: chained(inAndOut(resident, [], context)) }];
}

function changeOf({ address, name, vm }: Resident, reason: string): Change {
  return { address, kind: 'update', name, node: vm.node, vmid: vm.vmid, reason, ...UNDETAILED };
}

/** Compared first: no power state is recorded until the end, so that a later run starts the VM if this one cannot. */
function inAndOut(resident: Resident, steps: readonly Step[], context: RelocateContext): Step[] {
  const { address, desired: vm, recorded } = resident;
  if (!vm) return [...steps];
  const desired = desiredOfExisting(context, vm, recorded, resident.vm);
  const kept = stillAppliedHa(vm.fields.ha, recorded.lastApplied);
  return [
    vmStep(address, 'vm.verify', {
      desired: packDesired(desired.values()),
      applied: { ...applied(vm, desired), ...kept },
    }),
    ...steps,
    vmStep(address, 'vm.start', { mayBeUnderWay: true }),
    readyStep(vm, context.stack.rollout.timeouts.readyMs),
  ];
}

function chained(steps: readonly Step[]): Step[] {
  return steps.map((step, index) => ({ ...step, needs: steps.slice(index - 1, index).map(({ id }) => id) }));
}

export function howItMoves(resident: Pick<Resident, 'restarts' | 'vm' | 'ha'>): string {
  if (resident.restarts) return 'it is shut down, moved and started';
  if (isManagedByHa(resident)) return 'the HA manager moves it';
  return resident.vm.running ? 'it moves while it runs' : 'it is stopped and stays stopped';
}

export function copiesNote(
  mover: Mover,
  target: string,
  { observed, targetStorage }: Pick<RelocateContext, 'observed' | 'targetStorage'>,
): string[] {
  const copied = [...copiedVolumes(mover, observed, targetStorage)];
  const parts = copied.map(([storage, bytes]) => (bytes > 0 ? `${printByteSize(bytes)} to ${storage}` : storage));
  return parts.length > 0 ? [`local disks are copied to ${target}: ${parts.join(', ')}`] : [];
}

/** A disk that moves to another storage than the file names. */
function storageNotes(resident: Resident, { observed, targetStorage }: RelocateContext): string[] {
  if (targetStorage === undefined) return [];
  const disks = resident.desired?.fields.disks ?? {};
  return storedDrives(resident, observed).flatMap(({ drive: { key }, isShared }) => {
    const storage = isShared ? undefined : disks[key]?.storage;
    if (storage === undefined || storage === targetStorage) return [];
    return [`the file says disks.${key}.storage: ${storage}; write ${targetStorage} there before the next apply`];
  });
}

/** The file is not changed by a move, and an apply does not follow `node` unless the file changes it. */
function fileNote(resident: Resident, target: string): string[] {
  const [node] = resident.nodes;
  if (!isPinned(resident) || node === undefined || node === target) return [];
  return [`the file says node: ${node}; an apply leaves the VM on ${target}, and proxwright rebalance moves it back`];
}
