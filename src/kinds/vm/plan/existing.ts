/** The plan of an existing VM that is ours: its differences, the steps for them, and changes that need a restart. Pure. */
import type { Change, Difference, OutsideChange } from '../../change.ts';
import type { Findings } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { isCreationUnfinished } from '../../recorded.ts';
import type { Step } from '../../step.ts';
import { heldVolumes } from '../actions/disks/seed.ts';
import type { DesiredConfig, DesiredEntry } from '../config/desired.ts';
import { volumesOf } from '../config/disks.ts';
import { inheritedDevices } from '../config/inherited.ts';
import { packDesired, withoutSeed } from '../config/packed.ts';
import { resizesAfterMaking, resizesNeeded } from '../config/writes.ts';
import { diffVm, hasMoreToRecord, type Recorded } from '../diff/diff.ts';
import { appliedHa, diffHa, isHaPath, isHaRecorded, stillAppliedHa } from '../ha.ts';
import { comparableHa, observedHa } from '../observe/ha.ts';
import type { ObservedVm } from '../observe/observed-vms.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { findOwnership } from '../ownership.ts';
import type { VmRecord } from '../record.ts';
import { guarded } from '../snapshot/before-change.ts';
import { heldDisks } from '../snapshot/obstacles.ts';
import type { ResolvedVm } from '../stack.ts';
import { isVmStep, vmStep } from '../steps.ts';
import { checkVm } from './checks/checks.ts';
import { chained } from './creation.ts';
import {
  applied,
  desiredConfigOf,
  impossibleProblems,
  readyStep,
  secretKeys,
  seedStep,
  type VmPlan,
  type VmPlanInput,
} from './desired-vm.ts';
import { checkMoves, type DiskMove, diskMoves, isMove, moveSteps, withoutOfflineMoves } from './disk-moves.ts';
import { type Migration, migrates, migrationOf } from './migration.ts';
import { notesOn, withNotes } from './notes.ts';
import { carryNotes, slotProblems, takingSteps, withDrives, withoutHolder } from './replace/carried.ts';
import { keptProblem, keptVolumes } from './replace/kept-disks.ts';

export function planExisting(
  input: VmPlanInput,
  recorded: VmRecord,
  found: VmObserved,
  findings: Findings,
): VmPlan | undefined {
  const { vm, observed, carried } = input;
  const actual = withDrives(found, carried);
  const values = effectiveValues(actual);
  const { desired, postponed, diff, ha } = compared(input, recorded, actual, values);
  const differences = [...diff.differences, ...ha];
  if (input.claimsAlone === false && isClaimAlone(differences, values)) {
    return planExisting({ ...input, vm: withoutLine(vm) }, recorded, found, findings);
  }
  const impossible = impossibleProblems(vm, diff.differences, values, 'Undo the change in the file.');
  findings.problems.push(...impossible);
  if (impossible.length > 0) return undefined;
  const before = findings.problems.length;
  const isMigrated = migrates(vm, recorded, actual);
  if (differences.length > 0 || isMigrated) checkVm({ vm, base: values, creating: false }, observed, findings);
  const removed = removedSlots(diff.differences, desired);
  const observedVm: ObservedVm = { kind: 'present', vm: actual };
  const { destroyData = [] } = input;
  // The mark is recorded: the file cannot have it together with `remove`.
  const keeping = { address: vm.address, vm, recorded, observedVm, destroyData, carried: carried?.slots };
  const kept = keptProblem(keeping, keptVolumes(keeping, removed), 'apply');
  if (kept) findings.problems.push(kept);
  if (carried) findings.problems.push(...slotProblems(vm, carried, { place: actual.node }));
  if (findings.problems.length > before) return undefined;
  const migration = migrationOf(input, recorded, actual, findings);
  const moves = diskMoves(diff.differences, desired, values, {
    node: isMigrated ? vm.fields.node : actual.node,
    bytesPerSecond: input.diskMoveBytesPerSecond,
  });
  const movesNotes = checkMoves(input, moves, findings);
  findings.problems.push(...heldDisks(input, actual, moves, removed));
  const changing = existingSteps({ input, recorded, actual, desired, migration, moves, diff });
  const { steps: configured, notes } = guarded(input, recorded, actual, { steps: changing, removed }, findings);
  if (findings.problems.length > before) return undefined;
  const steps = completed(input, recorded, withHa(configured, haStep(vm, recorded, ha.length > 0)));
  const kind = isCreationUnfinished(recorded) ? 'complete' : steps.length > 0 ? 'update' : 'none';
  const unmanaged = diff.unmanaged.filter((path) => path !== 'node' && path !== 'power' && !isManagedHa(vm, path));
  const outside = outsideChanges(vm, recorded, actual);
  return {
    change: {
      address: vm.address,
      kind,
      name: vm.fields.name,
      node: actual.node,
      vmid: actual.vmid,
      reason: isUnfinished(recorded)
        ? `An earlier run did not finish ${kind === 'complete' ? 'it' : 'changing it'}.`
        : existingReason(kind, differences, { unmanaged, outside }, steps),
      differences,
      inherited: inheritedDevices(desired, values).map(({ key, summary }) => `${key}: ${summary}`),
      unmanaged,
      restartPending: input.mayRestart ? [] : [...pendingAfter(actual, diff), ...postponed],
      restarts: steps.some(isRestart),
      ...removedVolumes(removed, values),
      ...withNotes([
        ...(carried ? carryNotes(carried, 'comes back: an earlier run did not finish the replacement') : []),
        ...notesOn(input, recorded, actual),
        ...(migration?.notes ?? []),
        ...movesNotes,
        ...notes,
      ]),
      ...(outside.length > 0 && { outside }),
    },
    steps,
  };
}

/** Desired, observed and recorded; `postponed` are moves of disks that wait until the VM may restart. */
function compared(input: VmPlanInput, recorded: VmRecord, actual: VmObserved, values: ReadonlyMap<string, string>) {
  const asked = desiredConfigOf(input, { vmid: actual.vmid, uuid: actual.uuid }, values);
  const last = comparableRecord(recorded, asked);
  const wholeDiff = diffVm(asked, actual, last);
  const isOnlyLive = actual.running && !input.mayRestart;
  const { desired, postponed } = isOnlyLive
    ? withoutOfflineMoves(asked, wholeDiff.differences, values)
    : { desired: asked, postponed: [] };
  const diff = withAuthor(recorded, postponed.length > 0 ? diffVm(desired, actual, last) : wholeDiff);
  return { desired, postponed, diff, ha: haDifferences(input.vm, input.observed, actual.vmid, last) };
}

/** With a wait until the VM is ready, and with the disks that it takes back. */
function completed({ vm, carried, readyMs }: VmPlanInput, recorded: VmRecord, steps: readonly Step[]): readonly Step[] {
  const finished = needsReadyWait(vm, recorded, steps)
    ? [...steps, withNeed(steps.at(-1), readyStep(vm, readyMs))]
    : steps;
  return carried ? chained(withoutHolder(vm, carried, [...takingSteps(vm, carried), ...finished])) : finished;
}

/** Nothing differs except that the VM has no ownership line. */
function isClaimAlone([only, ...others]: readonly Difference[], values: ReadonlyMap<string, string>): boolean {
  return only?.path === 'ownership' && others.length === 0 && !findOwnership(values.get('description') ?? '');
}

const withoutLine = (vm: ResolvedVm): ResolvedVm => ({ ...vm, fields: { ...vm.fields, ownership: 'off' } });

/** In one step, or stopped for a while and started again. */
const isRestart = (step: Step) =>
  step.action === 'vm.restart' || (isVmStep(step, 'vm.stop') && step.input.forNow === true);

const isUnfinished = ({ phase }: VmRecord) => phase !== 'complete';

/** An unfinished run may have sent a secret, and nothing shows which one the VM has. */
function comparableRecord(recorded: VmRecord, desired: DesiredConfig): Recorded {
  if (!isUnfinished(recorded)) return recorded.lastApplied;
  if (isCreationUnfinished(recorded)) return undefined;
  const secrets = [...desired.values()].filter((entry) => entry.desired.kind === 'secret');
  const paths = new Set(secrets.flatMap(({ fields }) => fields.map(({ path }) => path)));
  return Object.fromEntries(Object.entries(recorded.lastApplied).filter(([path]) => !paths.has(path)));
}

/** A half-finished change of ours looks like a change by another client; do not report it as one. */
function withAuthor<Diff extends ReturnType<typeof diffVm>>(recorded: VmRecord, diff: Diff): Diff {
  if (!isUnfinished(recorded)) return diff;
  return { ...diff, differences: diff.differences.map((difference) => ({ ...difference, by: 'file' as const })) };
}

function withNeed(last: Step | undefined, step: Step): Step {
  return { ...step, needs: last ? [last.id] : [] };
}

/** This plan starts the VM, or an earlier run ended before the guest it started was ready. */
function needsReadyWait({ fields: { power } }: ResolvedVm, { lastApplied }: VmRecord, steps: readonly Step[]): boolean {
  const isStarted = steps.some(({ action }) => action === 'vm.start' || action === 'vm.restart');
  return isStarted || (power === 'running' && lastApplied.power !== 'running');
}

/** Also when the state only lacks a record of it; the step itself finds out whether anything has to change. */
function haStep(vm: ResolvedVm, recorded: VmRecord, differs: boolean): Step | undefined {
  const { ha } = vm.fields;
  const isDone = recorded.phase === 'complete' && isHaRecorded(ha, recorded.lastApplied);
  return ha === undefined || (isDone && !differs) ? undefined : vmStep(vm.address, 'vm.ha', { ha });
}

/** The last step, except before a stop: the HA manager would restart a VM that it still has to keep running. */
function withHa(steps: readonly Step[], ha: Step | undefined): Step[] {
  if (!ha) return [...steps];
  const [last] = steps.slice(-1);
  if (last?.action !== 'vm.stop') return [...steps, withNeed(last, ha)];
  return [...steps.slice(0, -1), { ...ha, needs: last.needs }, { ...last, needs: [ha.id] }];
}

/** `ha` in the file decides whether a resource exists, and every value that it sets. */
function isManagedHa({ fields: { ha } }: ResolvedVm, path: string): boolean {
  return isHaPath(path) && ha !== undefined && (ha === false || path === 'ha' || path in appliedHa(ha));
}

/** Differences between the file and the HA manager; none when the token may not read the latter. */
export function haDifferences(vm: ResolvedVm, observed: Observed, vmid: number, last: Recorded): readonly Difference[] {
  return diffHa(comparableHa(vm.fields.ha, observed), observedHa(observed, vmid), last);
}

function pendingAfter(
  actual: VmObserved,
  diff: { readonly differences: readonly Difference[]; readonly restartPending: readonly string[] },
): string[] {
  if (!actual.running) return [];
  const planned = diff.differences.filter(({ effect }) => effect === 'restart').map(({ path }) => path);
  return [...diff.restartPending, ...planned];
}

function existingReason(
  kind: Change['kind'],
  differences: readonly Difference[],
  { unmanaged, outside }: { readonly unmanaged: readonly string[]; readonly outside: readonly OutsideChange[] },
  steps: readonly Step[],
): string {
  if (kind === 'none') return outside.length > 0 ? 'Its settings match the file.' : 'It matches the file.';
  if (differences.length === 0) {
    if (steps.some(({ action }) => action === 'vm.unhold')) return 'An earlier run did not finish replacing it.';
    const acting = steps.filter(({ action }) => action !== 'vm.verify' && action !== 'vm.ha');
    const restart = acting.find((step) => isVmStep(step, 'vm.restart'));
    if (restart) return `A restart is still due, for ${restart.input.reasons.join(', ')}.`;
    const actions = acting.map(({ action }) => action);
    if (actions.some((action) => /^vm\.(migrate|start|stop)$/.test(action))) return 'Its power state or node changes.';
    if (actions.some((action) => action !== 'vm.ready')) return 'An earlier run did not finish changing it.';
    if (actions.length > 0) return 'An earlier run ended while it started or stopped the VM.';
    return unmanaged.length > 0
      ? 'The file no longer sets some fields. Proxwright records that and changes nothing.'
      : 'The file now sets values that the VM already has. Proxwright records them and changes nothing.';
  }
  const by = new Set(differences.map((difference) => difference.by));
  if (by.size === 1 && by.has('others')) return 'It was changed outside Proxwright since the last apply.';
  return by.has('others') || by.has('both')
    ? 'The file changed, and so did the VM outside Proxwright.'
    : 'The file changed.';
}

/** Power state and node that the last apply recorded and the file still has, but the cluster does not. */
function outsideChanges({ fields, placement }: ResolvedVm, recorded: VmRecord, actual: VmObserved): OutsideChange[] {
  if (isUnfinished(recorded)) return [];
  const { power, node } = recorded.lastApplied;
  const now = { power: actual.running ? 'running' : 'stopped', node: actual.node };
  const by = movedBy(recorded, actual);
  // Where the file leaves the node open, a move of ours contradicts nothing.
  const isExpected = placement !== undefined && by.by !== undefined;
  return [['power', power] as const, ['node', node] as const].flatMap(([path, applied]) => {
    if (path === 'node' && isExpected) return [];
    const isStill = applied === fields[path] || (placement && path === 'node' && typeof applied === 'string');
    return isStill && applied !== now[path]
      ? [{ path, applied: String(applied), actual: now[path], ...(path === 'node' && by) }]
      : [];
  });
}

/** Set if a command of ours moved it there, and it has stayed there. */
function movedBy({ moved }: VmRecord, { node }: VmObserved): Pick<OutsideChange, 'by'> {
  return moved?.to === node ? { by: moved.by } : {};
}

/** Drives that the file removes, with their volumes. */
function removedSlots(differences: readonly Difference[], desired: DesiredConfig): ReadonlySet<string> {
  return new Set(differences.flatMap(({ key }) => (desired.get(key)?.desired.kind === 'absent' ? [key] : [])));
}

function removedVolumes(slots: ReadonlySet<string>, values: ReadonlyMap<string, string>): Pick<Change, 'destroys'> {
  const destroys = volumesOf(values, slots);
  return destroys.length > 0 ? { destroys } : {};
}

/** What an existing VM needs. */
interface Work {
  readonly input: VmPlanInput;
  readonly recorded: VmRecord;
  readonly actual: VmObserved;
  readonly desired: DesiredConfig;
  readonly migration: Migration | undefined;
  readonly moves: readonly DiskMove[];
  readonly diff: Pick<ReturnType<typeof diffVm>, 'differences' | 'restartPending'>;
}

function existingSteps(work: Work): Step[] {
  const relocation = relocationSteps(work);
  const writing = writingSteps(work);
  const steps = [...relocation.steps, ...writing.steps];
  return chained([
    ...steps,
    ...finalSteps(work, { ...relocation, hasSeed: writing.hasSeed, isIdle: steps.length === 0 }),
  ]);
}

/** To another node, and disks to other storages. Some of it needs the VM to be off. */
function relocationSteps({ input: { vm }, actual, migration, moves }: Work): { steps: Step[]; isOffForNow: boolean } {
  const { address, fields } = vm;
  // The file may also say that the VM is stopped in the end, which is a step of its own.
  const part = fields.power === 'stopped' ? { part: 'for-now' } : {};
  const stop = vmStep(address, 'vm.stop', { how: 'shutdown', forNow: true }, part);
  const isOffToMigrate = actual.running && migration?.isOffline === true;
  const isOffToMoveDisks = actual.running && !isOffToMigrate && moves.some(({ isOffline }) => isOffline);
  const steps = [
    ...(isOffToMigrate ? [stop] : []),
    ...(migration ? [vmStep(address, 'vm.migrate', { target: fields.node, from: actual.node })] : []),
    // Moving comes before growing: the old storage may have no room for more, and there is less to copy.
    ...moveSteps(vm, moves, (move) => !actual.running || isOffToMigrate || !move.isOffline),
    ...(isOffToMoveDisks ? [stop, ...moveSteps(vm, moves, ({ isOffline }) => isOffline)] : []),
  ];
  return { steps, isOffForNow: isOffToMigrate || isOffToMoveDisks };
}

function writingSteps({ input: { vm }, recorded, actual, desired, diff }: Work): { steps: Step[]; hasSeed: boolean } {
  const { address } = vm;
  const packed = packDesired(desired.values());
  const changed = new Set(diff.differences.map(({ key }) => key));
  const grow = (resizes: readonly { readonly disk: string; readonly sizeBytes: number }[]) =>
    resizes.map(({ disk, sizeBytes }) => vmStep(address, 'vm.resize', { slot: disk, sizeBytes }, { part: disk }));
  const seed = [...desired.values()].some((entry) => isSeedOpen(entry, changed, recorded)) ? seedStep(vm) : undefined;
  const isWritten = diff.differences.some((each) => !each.path.endsWith('.size') && !isMove(each, desired));
  const secrets = secretKeys([...desired.values()].filter(({ key }) => changed.has(key)));
  const steps = [
    // Growing comes first: a pending change of a disk has the old size in it and would restore that size.
    ...grow(resizesNeeded(desired.values(), actual)),
    // The cloud-init files name the NICs, so those must exist first.
    ...(seed && isWritten && changed.size > 1
      ? [vmStep(address, 'vm.configure', { desired: withoutSeed(packed) }, { part: 'devices' })]
      : []),
    ...(seed ? [seed] : []),
    ...(isWritten
      ? [
          vmStep(address, 'vm.configure', { desired: packed, ...(secrets.length > 0 && { secrets }) }),
          ...grow(resizesAfterMaking(desired.values(), actual)),
        ]
      : []),
  ];
  return { steps, hasSeed: seed !== undefined };
}

interface SoFar {
  /** The VM was shut down for a move. */
  readonly isOffForNow: boolean;
  readonly hasSeed: boolean;
  /** There is no step yet. */
  readonly isIdle: boolean;
}

/** Compare and record, remove old cloud-init files, and reach the power state. */
function finalSteps({ input, recorded, actual, desired, diff }: Work, { isOffForNow, hasSeed, isIdle }: SoFar): Step[] {
  const { vm } = input;
  const { address, fields } = vm;
  const last = recorded.lastApplied;
  // The power state is recorded only once the VM has reached it.
  const powerChanged = last.power !== fields.power;
  const restartReasons = [
    ...diff.restartPending,
    ...diff.differences.filter(({ effect }) => effect === 'restart').map(({ path }) => path),
  ];
  const restarts = actual.running && fields.power === 'running' && input.mayRestart && restartReasons.length > 0;
  const isStartedAgain = isOffForNow && fields.power === 'running';
  const kept = stillAppliedHa(fields.ha, last);
  const isOffAsDeclared = fields.power === 'stopped' && !actual.running;
  const toRecord = { ...applied(vm, desired, isOffAsDeclared ? 'stopped' : last.power), ...kept };
  const isVerified =
    !isIdle ||
    powerChanged ||
    restarts ||
    recorded.phase !== 'complete' ||
    hasMoreToRecord(last, toRecord, desired, (path) => isManagedHa(vm, path) || isFollowed(vm, path));
  const verify = vmStep(address, 'vm.verify', {
    desired: packDesired(desired.values()),
    // A run may end between stop and start. Until the VM runs, no power state is recorded, so the next plan starts it.
    applied: restarts || isStartedAgain ? { ...applied(vm, desired), ...kept } : toRecord,
  });
  const power = (): Step[] => {
    if (isStartedAgain) return [vmStep(address, 'vm.start', {})];
    if (restarts) return [vmStep(address, 'vm.restart', { reasons: restartReasons })];
    if (!powerChanged || fields.power === (actual.running ? 'running' : 'stopped')) return [];
    return fields.power === 'running'
      ? [vmStep(address, 'vm.start', { mayBeUnderWay: true })]
      : [vmStep(address, 'vm.stop', { how: 'shutdown', asDeclared: true })];
  };
  return [
    ...(isVerified ? [verify] : []),
    ...(hasSeed || hasOldSeeds(recorded, actual) ? [vmStep(address, 'vm.unseed', {})] : []),
    ...power(),
  ];
}

/** If the plan chose the node, a VM that another client moved stays where it is. */
function isFollowed({ placement }: ResolvedVm, path: string): boolean {
  return placement !== undefined && path === 'node';
}

/** An earlier run ended before it removed them. Volumes that could not be removed were reported then and are not retried. */
function hasOldSeeds({ oldSeeds = [] }: VmRecord, actual: VmObserved): boolean {
  const held = heldVolumes(actual);
  return oldSeeds.some(({ volid, stuck }) => !stuck && !held.has(volid));
}

/** Also when the drive holds the right file and the state has no record of it: the record lets a destroy delete the file. */
function isSeedOpen({ key, desired }: DesiredEntry, changed: ReadonlySet<string>, { seed }: VmRecord): boolean {
  return desired.kind === 'cdrom' && desired.seed === true && (changed.has(key) || seed?.volid !== desired.file);
}
