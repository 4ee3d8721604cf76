/**
 * What a plan says about a VM: its attributes after apply, what forces a replacement, and whether the engine could do
 * it.
 */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { Observed, Plan, PlanResult } from '../../../engine/index.ts';
import { secretFieldsOf } from '../../../kinds/vm/fields/secrets.ts';
import { halfMadeRefusal } from '../../../kinds/vm/lock.ts';
import type { Neighbours } from '../../../kinds/vm/observe/observed-vms.ts';
import { lostVms } from '../../../kinds/vm/plan/checks/lost-vms.ts';
import { keptSlots } from '../../../kinds/vm/plan/replace/kept-disks.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { allUnknown, changeAt, textAt, type ValueChange, valueIn } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { EMPTY_STACK, ownerName } from '../../adapter/engine-run.ts';
import type { Configured, Held, PlanDraft, PlanFindings } from '../../adapter/kind.ts';
import { problemOf } from '../../adapter/outcome.ts';
import { destroyFindings, findingsOf, isPostponed, planWithEngine } from '../../adapter/plan-checks.ts';
import { attribute } from '../../cty/path.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../../cty/value.ts';
import type { ProviderDiagnostic } from '../../provider.ts';
import type { Attributes } from '../../schema/model.ts';
import { equalValues } from '../../values/equal.ts';
import { type DesiredVm, desiredVm, isOpen, withPlannedPower } from './desired.ts';
import { type IncompleteVm, type KnownVms, recordedIncomplete } from './leftovers.ts';
import { keptFor, NOTHING_KEPT, recordedVm, type SoloVm, type VmPrivate, workOn } from './recorded.ts';
import { COMPUTED_ATTRIBUTES, USER_ATTRIBUTES, unsettledBy, VM } from './schema.ts';
import { appliedDigests, documentProblems, NO_SECRETS, secretsOf, withFormerPassword } from './secrets.ts';
import { plannedAttributes } from './values/planned.ts';

/** The user's attributes after apply. What left the configuration is released only if it was managed. */
export function plannedFor(
  attributes: Attributes,
  config: CtyObject,
  { state, kept }: { readonly state: CtyObject | null; readonly kept: Pick<VmPrivate, 'managed'> },
): CtyObject {
  const managed = new Set(kept.managed);
  return plannedAttributes({ attributes, config, prior: state, wasManaged: (path) => managed.has(path) });
}

export function planVmCreate(known: KnownVms, { config, desired }: Configured<DesiredVm>): PlanDraft {
  const attributes = plannedFor(USER_ATTRIBUTES, config, { state: null, kept: NOTHING_KEPT });
  const vmid = attributes.vmid ?? UNKNOWN;
  return {
    planned: objectOf(Object.entries({ ...attributes, ...allUnknown(COMPUTED_ATTRIBUTES), vmid })),
    check: (deps) => createFindings(known, deps, config, desired),
  };
}

/** The engine's problems with creating this VM, if known. */
async function createFindings(
  known: KnownVms,
  deps: Deps,
  config: CtyObject,
  desired: DesiredVm,
): Promise<ProviderDiagnostic[]> {
  const { fields } = desired.vm;
  // A missing file must be reported before an image is downloaded and a template built.
  const findings = (await documentProblems(deps, config, desired.vm))
    .filter((problem) => !isPostponed(problem, desired.unknown))
    .map((problem) => problemOf(problem, VM));
  if (isOpen(desired, ['name', 'node', 'clone', 'clone.template'])) return findings;
  findings.push(...sharedAddresses(known, desired));
  const query = { name: fields.name, ...(fields.vmid !== undefined && { vmid: fields.vmid }) };
  const leftover = await known.leftovers(deps).glance(query, deps.signal);
  const refusal = leftover && (await halfMadeRefusal({ pve: deps.looks, signal: deps.signal }, leftover, {}));
  if (refusal?.code === 'STALE_LOCK') return [...findings, problemOf(refusal.diagnostic, VM)];
  if (leftover) findings.push(completionNote(leftover));
  // While a task works on it, nothing tells whether it is finished; apply waits for the task.
  if (leftover?.lock !== undefined) return findings;
  const recorded: VmRecord | undefined =
    leftover?.uuid === undefined
      ? undefined
      : { ...recordedIncomplete(leftover), uuid: leftover.uuid, phase: 'incomplete' };
  const result = await enginePlan(known, deps, soloOf(desired, recorded), (observed) =>
    findings.push(...namesakeWarnings(ownerName(deps.work), desired.vm, observed)),
  );
  return [...findings, ...vmFindings(known, result, desired)];
}

/** Two resources of one run with the same address: neither exists with it yet, so the cluster cannot tell. */
function sharedAddresses(known: KnownVms, { vm, unknown }: DesiredVm, before?: CtyObject): ProviderDiagnostic[] {
  return known.noteAddresses(vm, before).flatMap(({ slot, address, other }) => {
    const { diagnostic } = new ProxwrightError({
      code: 'ADDRESS_TAKEN',
      where: { field: `nics.${slot}` },
      detail: `${address} of "${vm.fields.name}" is also the address of "${other}" in this configuration.`,
      hint: 'Give one of them another address.',
    });
    return isPostponed(diagnostic, unknown) ? [] : [problemOf(diagnostic, VM)];
  });
}

function completionNote({ vmid, node, name }: IncompleteVm): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An earlier run left this VM incomplete',
    detail: `VM ${vmid} on ${node} was being created as "${name}". Apply completes it; it does not create another one.`,
  };
}

/**
 * VMs of this token that have the name of the one to be created. A VM with another vmid may be created next to them: to
 * replace one that is destroyed afterwards, or in another workspace. So this is a warning.
 */
function namesakeWarnings(stackName: string, vm: ResolvedVm, observed: Observed): ProviderDiagnostic[] {
  const { name, vmid } = vm.fields;
  if (vmid === undefined) return [];
  return lostVms(stackName, [vm], observed)
    .filter((other) => other.vmid !== vmid)
    .map((other) => ({
      severity: 'warning',
      summary: 'Another VM has this name',
      detail: `VM ${other.vmid} on ${other.node} is also called "${name}", and this token created it. It stays as it is; VM ${vmid} is created next to it.`,
      path: [attribute('vmid')],
    }));
}

export async function planVmUpdate(
  known: KnownVms,
  deps: Deps | undefined,
  { config, desired }: Configured<DesiredVm>,
  prior: Held<VmPrivate>,
): Promise<PlanDraft> {
  const { state } = prior;
  const attributes = plannedFor(USER_ATTRIBUTES, config, prior);
  // An existing VM keeps its id, whether the configuration sets it or not.
  const shared = sharedAddresses(known, desired, state);
  const settled: CtyObject = { ...attributes, vmid: valueIn(config.vmid === null ? state : attributes, 'vmid') };
  const kept = keptFor(desired.vm, prior.kept);
  const changed = [
    ...Object.keys(USER_ATTRIBUTES).filter((name) => !equalValues(valueIn(settled, name), valueIn(state, name))),
    ...((await haveSecretsChanged(deps, config, desired, kept)) ? ['cloud_init'] : []),
    ...(kept.switchedOff ? ['power'] : []),
    ...(isRestartDue(state, desired) ? ['restart'] : []),
  ];
  if (changed.length === 0) return { planned: state, notes: restartNote(state), check: async () => shared };
  const unsettled = unsettledBy(changed);
  const computed = Object.keys(COMPUTED_ATTRIBUTES).map((name): [string, CtyValue] => [
    name,
    unsettled.has(name) ? UNKNOWN : valueIn(state, name),
  ]);
  const planned: CtyObject = objectOf([...Object.entries<CtyValue>(settled), ...computed]);
  const replaced = REPLACING.flatMap(({ path, reason }) => {
    const change = changeAt(path, state, planned);
    return change ? [{ ...change, reason }] : [];
  });
  if (replaced.length > 0) {
    known.noteLeaving(state);
    const kept = [...keptSlots(undefined, recordedVm(state, prior.kept))];
    if (kept.length > 0) return { planned, replace: [], notes: replaced.map((change) => keptRefusal(change, kept)) };
    const notes = replaced.map((change) => replacementWarning(change, keepsNameAndId(planned, state)));
    return { planned, replace: replaced.map(({ path }) => path.map(attribute)), notes };
  }
  const solo = soloOf({ ...desired, vm: withPlannedPower(desired.vm, planned) }, recordedVm(state, kept));
  return {
    planned,
    check: async (server) =>
      isOpen(desired, ['name', 'node'])
        ? []
        : [...shared, ...vmFindings(known, await enginePlan(known, server, solo), desired)],
  };
}

/** What Proxmox cannot change in an existing VM. */
const REPLACING = [
  { path: ['vmid'], reason: 'Proxmox cannot change the id of a VM' },
  { path: ['clone', 'template'], reason: 'a VM stays a copy of the template it was cloned from' },
  { path: ['clone', 'mode'], reason: 'a full clone cannot become a linked one, or the other way round' },
] as const;

/** `inPlace`: the replacement has the name and the id of this VM. */
function replacementWarning(
  { path, before, after, reason }: ValueChange & { readonly reason: string },
  inPlace: boolean,
): ProviderDiagnostic {
  const shown = (value: CtyValue) => (value === UNKNOWN ? '(known after apply)' : String(value));
  const order = inPlace
    ? ' In this order: with create_before_destroy, the new VM needs another name, or a different vmid.'
    : '';
  return {
    severity: 'warning',
    summary: 'This VM will be replaced',
    detail: `${path.join('.')} changes from ${shown(before)} to ${shown(after)}, and ${reason}. The VM and its disks are destroyed, and a new VM is created.${order}`,
    path: path.slice(0, 1).map(attribute),
  };
}

/** The host destroys the old VM before it creates the new one, so nothing could hold the volumes in between. */
function keptRefusal(
  { path, reason }: ValueChange & { readonly reason: string },
  slots: readonly string[],
): ProviderDiagnostic {
  return {
    severity: 'error',
    summary: 'Disks are marked as kept',
    detail: `${path.join('.')} changes, and ${reason}. Replacing the VM would destroy ${slots.join(', ')}, which the configuration keeps: keep = true. Undo the change. If the data may go, set keep = false, apply that, and then make this change.`,
    path: path.slice(0, 1).map(attribute),
  };
}

/** Then nothing distinguishes the replacement from this VM while both exist. */
function keepsNameAndId(planned: CtyObject, prior: CtyObject): boolean {
  const same = (name: string) => equalValues(valueIn(planned, name), valueIn(prior, name));
  return same('name') && (same('vmid') || planned.vmid === UNKNOWN);
}

export function planVmDestroy(known: KnownVms, { state, kept }: Held<VmPrivate>): PlanFindings {
  known.noteLeaving(state);
  const solo = soloOf(desiredVm(state, true), recordedVm(state, kept));
  const work = { ...workOn(solo), desired: EMPTY_STACK };
  return { check: (deps) => destroyFindings(deps, work, VM, { running: 'shutdown' }) };
}

function soloOf({ vm, timeouts }: DesiredVm, recorded: VmRecord | undefined): SoloVm {
  return { vm, timeouts, recorded, secrets: NO_SECRETS };
}

/** What the host knows is not lost, and the host may destroy one of its VMs before it creates this one. */
async function enginePlan(
  known: KnownVms,
  deps: Deps,
  solo: SoloVm,
  onObserved: (observed: Observed) => void = () => {},
): Promise<PlanResult> {
  const expectation = (observed: Observed) => {
    const expected = {
      ...observed,
      takenIds: new Set([...observed.takenIds].filter((vmid) => !known.willBeFree(vmid, solo.vm.fields.name))),
      claimants: new Map([...observed.claimants].filter(([vmid]) => !known.isKnown(vmid))),
      ...(observed.neighbours && { neighbours: withoutKnown(observed.neighbours, known) }),
    };
    onObserved(expected);
    return expected;
  };
  return known.onceFree(solo.vm.fields, deps, () =>
    planWithEngine(deps, { ...workOn(solo), secrets: new Map() }, expectation),
  );
}

/** The addresses of VMs in the host's state are compared by `noteAddresses`. */
function withoutKnown(neighbours: Neighbours, known: KnownVms): Neighbours {
  const isOther = ({ vmid }: { readonly vmid: number }) => !known.isKnown(vmid);
  const holders = [...neighbours.holders].map(([address, all]) => [address, all.filter(isOther)] as const);
  return { ...neighbours, holders: new Map(holders), silent: neighbours.silent.filter(isOther) };
}

function vmFindings(known: KnownVms, result: PlanResult, { vm, unknown }: DesiredVm): ProviderDiagnostic[] {
  const instead = (problem: Diagnostic) =>
    isTemplateToCome(known, problem, vm) ? templateToComeWarning(vm) : undefined;
  return [...findingsOf(result, VM, { unknown, instead }), ...(result.ok ? restartWarnings(result.plan) : [])];
}

/** The template does not exist yet, and a resource of the same run creates it first. */
function isTemplateToCome(known: KnownVms, { code, where }: Diagnostic, vm: ResolvedVm): boolean {
  // On an empty cluster, a missing template looks like a missing privilege.
  const isAbout = where?.field === 'clone.template' && (code === 'MISSING_REFERENCE' || code === 'PRIVILEGE_MISSING');
  return isAbout && known.isTemplatePlanned(vm.fields.clone?.template ?? '');
}

function templateToComeWarning({ fields }: ResolvedVm): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The same run creates the template',
    detail: `${fields.name} is a clone of "${fields.clone?.template}", which does not exist yet. Apply checks whether the two fit together.`,
    path: [attribute('clone')],
  };
}

function restartWarnings({ changes }: Plan): ProviderDiagnostic[] {
  return changes.flatMap(({ restarts, restartPending, name }): ProviderDiagnostic[] => {
    if (restarts) {
      const detail = `${name} is shut down and started again, because a change takes effect only after a restart.`;
      return [{ severity: 'warning', summary: 'The VM will be restarted', detail }];
    }
    if (restartPending.length === 0) return [];
    return [
      {
        severity: 'warning',
        summary: 'Some changes take effect after a restart',
        detail: `${restartPending.join(', ')}: the new value takes effect when ${name} is started next. To restart it now, set restart = "when_needed".`,
      },
    ];
  });
}

/** An earlier run wrote a value and did not get to the restart that it needs. */
function isRestartDue(state: CtyObject, { vm }: DesiredVm): boolean {
  const isPending = Array.isArray(state.restart_pending) && state.restart_pending.length > 0;
  return isPending && vm.fields.restart === 'when_needed';
}

export function restartNote(state: CtyObject): ProviderDiagnostic[] {
  const waiting = Array.isArray(state.restart_pending) ? state.restart_pending : [];
  if (waiting.length === 0) return [];
  const detail = `Takes effect when ${textAt(state, 'name')} is started next: ${waiting.join(', ')}.`;
  return [{ severity: 'warning', summary: 'Restart pending', detail }];
}

/** The state does not show the value of a secret, so its digest has to. */
async function haveSecretsChanged(
  deps: Deps | undefined,
  config: CtyObject,
  { vm }: DesiredVm,
  kept: VmPrivate,
): Promise<boolean> {
  if (!deps || secretFieldsOf(vm.fields).length === 0) return false;
  const secrets = await secretsOf(deps, config, vm);
  const { applied } = withFormerPassword(kept, secrets);
  return Object.entries(appliedDigests(vm, secrets)).some(([path, digest]) => applied[path] !== digest);
}
