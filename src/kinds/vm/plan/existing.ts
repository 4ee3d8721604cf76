/** The plan of a VM that is there and ours: what differs, what that takes, and what waits for a restart. Pure. */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import type { Change } from '../../change.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { heldVolumes } from '../actions/seed.ts';
import type { DesiredConfig, DesiredEntry } from '../desired.ts';
import { type Difference, diffVm, type Recorded } from '../diff/diff.ts';
import { appliedHa, diffHa, isHaPath, isHaRecorded, stillAppliedHa } from '../ha.ts';
import { inheritedDevices } from '../inherited.ts';
import { comparableHa, foundHa } from '../observe-ha.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { packDesired, withoutSeed } from '../packed.ts';
import type { VmRecord } from '../record.ts';
import { vmStep } from '../steps.ts';
import { whereOf } from '../where.ts';
import { resizesAfterMaking, resizesNeeded } from '../writes.ts';
import { checkVm, type Findings } from './checks.ts';
import { applied, readyStep, secretKeys, seedStep, type VmPlan, type VmPlanInput, wanted } from './desired-vm.ts';

export function planExisting(
  input: VmPlanInput,
  remembered: VmRecord,
  actual: VmObserved,
  findings: Findings,
): VmPlan | undefined {
  const { vm, observed } = input;
  const desired = wanted(input, { vmid: actual.vmid, uuid: actual.uuid }, effectiveValues(actual));
  const unfinished = remembered.phase !== 'complete';
  const last = unfinished ? undefined : remembered.lastApplied;
  const diff = diffVm(desired, actual, last);
  const ha = haDifferences(vm, observed, actual.vmid, last);
  const differences = [...diff.differences, ...ha];
  const impossible = diff.differences.filter(({ effect }) => effect === 'impossible');
  if (impossible.length > 0) {
    findings.problems.push(...impossible.map((difference) => impossibleProblem(vm, difference)));
    return undefined;
  }
  const values = effectiveValues(actual);
  const before = findings.problems.length;
  if (differences.length > 0) checkVm({ vm, base: values, creating: false }, observed, findings);
  if (findings.problems.length > before) return undefined;
  const configured = existingSteps(input, remembered, actual, desired, diff.differences, diff.restartPending);
  const prepared = withHa(configured, haStep(vm, remembered, ha.length > 0));
  const steps = isToBeAwaited(vm, remembered, prepared)
    ? [...prepared, behind(prepared.at(-1), readyStep(vm, input.readyMs))]
    : prepared;
  const kind = unfinished ? 'complete' : steps.length > 0 ? 'update' : 'none';
  return {
    change: {
      address: vm.address,
      kind,
      name: vm.fields.name,
      node: actual.node,
      vmid: actual.vmid,
      reason: existingReason(kind, differences, steps),
      differences,
      inherited: inheritedDevices(desired, values).map(({ key, summary }) => `${key}: ${summary}`),
      unmanaged: diff.unmanaged.filter((path) => path !== 'node' && path !== 'power' && !isManagedHa(vm, path)),
      restartPending: input.mayRestart ? [] : pendingAfter(actual, diff),
      restarts: steps.some((step) => step.action === 'vm.restart'),
    },
    steps,
  };
}

function behind(last: Step | undefined, step: Step): Step {
  return { ...step, needs: last ? [last.id] : [] };
}

/** Started by this plan, or by a run that died before it had seen the guest. */
function isToBeAwaited({ fields: { power } }: ResolvedVm, { lastApplied }: VmRecord, steps: readonly Step[]): boolean {
  const isStarted = steps.some(({ action }) => action === 'vm.start' || action === 'vm.restart');
  return isStarted || (power === 'running' && lastApplied.power !== 'running');
}

/** Also where only the memory of it is missing: whether there is something to do the step finds out. */
function haStep(vm: ResolvedVm, remembered: VmRecord, differs: boolean): Step | undefined {
  const { ha } = vm.fields;
  const isDone = remembered.phase === 'complete' && isHaRecorded(ha, remembered.lastApplied);
  return ha === undefined || (isDone && !differs) ? undefined : vmStep(vm.address, 'vm.ha', { ha });
}

/** Last of all, but before a stop: the manager would start again what it still is to keep running. */
function withHa(steps: readonly Step[], ha: Step | undefined): Step[] {
  if (!ha) return [...steps];
  const [last] = steps.slice(-1);
  if (last?.action !== 'vm.stop') return [...steps, behind(last, ha)];
  return [...steps.slice(0, -1), { ...ha, needs: last.needs }, { ...last, needs: [ha.id] }];
}

/** Between "must not be a resource" and "is one" nothing is left to itself. */
function isManagedHa({ fields: { ha } }: ResolvedVm, path: string): boolean {
  return isHaPath(path) && ha !== undefined && (ha === false || path === 'ha' || path in appliedHa(ha));
}

/** What the file and the HA manager disagree about, as far as the latter can be asked. */
export function haDifferences(vm: ResolvedVm, observed: Observed, vmid: number, last: Recorded): readonly Difference[] {
  return diffHa(comparableHa(vm.fields.ha, observed), foundHa(observed, vmid), last);
}

function pendingAfter(
  actual: VmObserved,
  diff: { readonly differences: readonly Difference[]; readonly restartPending: readonly string[] },
): string[] {
  if (!actual.running) return [];
  const coming = diff.differences.filter(({ effect }) => effect === 'restart').map(({ path }) => path);
  return [...diff.restartPending, ...coming];
}

function existingReason(kind: Change['kind'], differences: readonly Difference[], steps: readonly Step[]): string {
  if (kind === 'complete') return 'An earlier run did not finish it.';
  if (kind === 'none') return 'It is as the file says.';
  if (differences.length === 0) {
    return steps.every(({ action }) => action === 'vm.verify' || action === 'vm.ha')
      ? 'The file names values that it has already; they are remembered, nothing is written.'
      : 'Its power state or place is to change.';
  }
  const by = new Set(differences.map((difference) => difference.by));
  if (by.size === 1 && by.has('others')) return 'Somebody else changed it since the last apply.';
  return by.has('others') || by.has('both') ? 'The file and somebody else changed it.' : 'The file changed.';
}

function impossibleProblem(vm: ResolvedVm, difference: Difference): Diagnostic {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm, difference.path),
    detail: `${difference.path} cannot become ${JSON.stringify(difference.after)}: ${difference.reason ?? 'Proxmox cannot change it.'}`,
    hint: advice`Undo the change in the file, or make the VM anew: ${command('apply', '--replace', vm.address)}`,
  }).diagnostic;
}

function existingSteps(
  input: VmPlanInput,
  remembered: VmRecord,
  actual: VmObserved,
  desired: DesiredConfig,
  differences: readonly Difference[],
  restartPending: readonly string[],
): Step[] {
  const { vm } = input;
  const { address, fields } = vm;
  const steps: Step[] = [];
  const add = (step: Step) => {
    const last = steps.at(-1);
    steps.push({ ...step, needs: last ? [last.id] : [] });
  };
  const last = remembered.lastApplied;
  const unfinished = remembered.phase !== 'complete';
  if (last.node !== undefined && last.node !== fields.node && actual.node !== fields.node) {
    add(vmStep(address, 'vm.migrate', { target: fields.node }));
  }
  const packed = packDesired(desired.values());
  const changed = new Set(differences.map(({ key }) => key));
  const grow = (resizes: readonly { readonly disk: string; readonly sizeBytes: number }[]) => {
    for (const { disk, sizeBytes } of resizes) {
      add(vmStep(address, 'vm.resize', { slot: disk, sizeBytes }, { part: disk }));
    }
  };
  // Growing comes first: a pending change of a disk keeps the size it was written with and would bring it back.
  grow(resizesNeeded(desired.values(), actual));
  const seed = [...desired.values()].some((entry) => isSeed(entry) && changed.has(entry.key)) && seedStep(vm);
  if (differences.some(({ path }) => !path.endsWith('.size'))) {
    const secrets = secretKeys([...desired.values()].filter(({ key }) => changed.has(key)));
    if (seed) {
      // What the documents say of the cards, they must be there for.
      if (changed.size > 1) add(vmStep(address, 'vm.configure', { desired: withoutSeed(packed) }, { part: 'devices' }));
      add(seed);
    }
    add(vmStep(address, 'vm.configure', { desired: packed, ...(secrets.length > 0 && { secrets }) }));
    grow(resizesAfterMaking(desired.values(), actual));
  }
  // Nothing is remembered of a VM that was never switched as its file says.
  const powerChanged = last.power !== fields.power;
  const waits = [
    ...restartPending,
    ...differences.filter(({ effect }) => effect === 'restart').map(({ path }) => path),
  ];
  const restarts = actual.running && fields.power === 'running' && input.mayRestart && waits.length > 0;
  const kept = stillAppliedHa(fields.ha, last);
  const isOffAsDeclared = fields.power === 'stopped' && !actual.running;
  const remembers = { ...applied(vm, desired, isOffAsDeclared ? 'stopped' : last.power), ...kept };
  if (
    steps.length > 0 ||
    powerChanged ||
    restarts ||
    unfinished ||
    isStale(last, remembers, (path) => isManagedHa(vm, path))
  ) {
    // A restart that fails between off and on must not be forgotten: until it is over the VM counts as not switched.
    add(
      vmStep(address, 'vm.verify', {
        desired: packed,
        applied: restarts ? { ...applied(vm, desired), ...kept } : remembers,
      }),
    );
  }
  if (seed || hasOldSeeds(remembered, actual)) add(vmStep(address, 'vm.unseed', {}));
  if (restarts) {
    add(vmStep(address, 'vm.restart', { reasons: waits }));
  } else if (powerChanged && fields.power === 'running' && !actual.running) {
    add(vmStep(address, 'vm.start', { mayBeUnderWay: true }));
  } else if (powerChanged && fields.power === 'stopped' && actual.running) {
    add(vmStep(address, 'vm.stop', { how: 'shutdown', asDeclared: true }));
  }
  return steps;
}

/** A run that died before it could remove them; what no run can remove was said then, and is no reason to go on trying. */
function hasOldSeeds({ oldSeeds = [] }: VmRecord, actual: VmObserved): boolean {
  const held = heldVolumes(actual);
  return oldSeeds.some(({ volid, stuck }) => !stuck && !held.has(volid));
}

const isSeed = ({ desired }: DesiredEntry) => desired.kind === 'cdrom' && desired.seed === true;

/** Fields newly declared with the value the VM has already: nothing to write, but to be remembered. */
function isStale(
  last: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  isElsewhere: (path: string) => boolean,
): boolean {
  const keys = new Set([...Object.keys(last), ...Object.keys(now)]);
  return [...keys].some((key) => !isElsewhere(key) && JSON.stringify(last[key]) !== JSON.stringify(now[key]));
}
