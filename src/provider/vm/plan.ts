/** `PlanResourceChange`: what a VM will be, and whether that can work. It depends on nothing but its inputs and the cluster. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { observe } from '../../engine/observe.ts';
import type { PlanResult } from '../../engine/plan.ts';
import { planDestroy } from '../../engine/plan.ts';
import type { Plan } from '../../kinds/change.ts';
import type { Observed } from '../../kinds/observed.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { attribute } from '../cty/path.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { PlanRequest, PlanResponse, PrivateState, ProviderDiagnostic } from '../provider.ts';
import { checked, isPostponed, planWithEngine } from '../run/checks.ts';
import { problemOf } from '../run/outcome.ts';
import type { Surroundings } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { equalValues } from '../values/equal.ts';
import { plannedAttributes } from '../values/planned.ts';
import { COMPUTED_ATTRIBUTES, UNKNOWN_COMPUTED, unsettledBy } from './computed.ts';
import type { VmContext } from './context.ts';
import { type IncompleteVm, memoryOfIncomplete } from './incomplete.ts';
import { memoryOfState, textOf } from './memory.ts';
import { keepsNameAndId, namesakeWarnings } from './namesakes.ts';
import { ownerName } from './owner.ts';
import { readPrivate, type VmPrivate } from './private-state.ts';
import { replacements, replacementWarning } from './replacement.ts';
import { USER_ATTRIBUTES, VM, VM_SCHEMA } from './schema.ts';
import { appliedDigests, documentProblems, secretsOf } from './secrets.ts';
import { type SoloVm, soloStack, soloState } from './solo-session.ts';
import { keptFor } from './switched-off.ts';
import { type WantedVm, wantedVm } from './wanted-vm.ts';

export async function planVmChange(context: VmContext, request: PlanRequest): Promise<PlanResponse> {
  const { prior, config } = request;
  const kept = readPrivate(request.private);
  if (prior) context.remember(prior);
  if (!config || !request.proposed) return planRemoval(context, prior, kept, request.private);
  const managed = new Set(kept.managed);
  const attributes = plannedAttributes({
    attributes: USER_ATTRIBUTES,
    config,
    prior,
    wasManaged: (path) => managed.has(path),
  });
  return prior
    ? planUpdate(context, { ...request, prior, config }, attributes, kept)
    : planCreation(context, config, attributes);
}

async function planCreation(context: VmContext, config: CtyObject, attributes: CtyObject): Promise<PlanResponse> {
  const planned = objectOf(Object.entries({ ...attributes, ...UNKNOWN_COMPUTED, vmid: attributes.vmid ?? UNKNOWN }));
  const wanted = wantedVm(config, { exists: false });
  const diagnostics = await checked(context.surroundings, VM_SCHEMA.attributes, async (surroundings) =>
    creationFindings(context, surroundings, config, wanted),
  );
  return { planned, requiresReplace: [], private: undefined, diagnostics };
}

/** What the engine would say to making this VM, as far as it is known. */
async function creationFindings(
  context: VmContext,
  surroundings: Surroundings,
  config: CtyObject,
  wanted: WantedVm,
): Promise<ProviderDiagnostic[]> {
  const { fields } = wanted.vm;
  // A file that is not there must not come to light when an image has been brought and a template built.
  const findings = (await documentProblems(surroundings, config, wanted.vm))
    .filter((problem) => !isPostponed(problem, wanted.unknown))
    .map((problem) => problemOf(problem, VM));
  if (isOpen(wanted, ['name', 'node', 'clone', 'clone.template'])) return findings;
  const query = { name: fields.name, ...(fields.vmid !== undefined && { vmid: fields.vmid }) };
  const leftover = await context.leftovers().glance(query, surroundings.signal);
  if (leftover) findings.push(completionNote(leftover));
  // Whether it is finished cannot be seen while a task works on it; apply waits for that.
  if (leftover?.lock !== undefined) return findings;
  const remembered: VmRecord | undefined =
    leftover?.uuid === undefined
      ? undefined
      : { ...memoryOfIncomplete(leftover), uuid: leftover.uuid, phase: 'incomplete' };
  const result = await enginePlan(context, surroundings, soloOf(wanted, remembered), (observed) =>
    findings.push(...namesakeWarnings(ownerName(surroundings.work), wanted.vm, observed)),
  );
  return [...findings, ...findingsOf(context, result, wanted)];
}

function completionNote({ vmid, node, name }: IncompleteVm): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An earlier run left this VM incomplete',
    detail: `VM ${vmid} on ${node} was being made as "${name}". It will be completed, not made again.`,
  };
}

interface UpdateRequest extends PlanRequest {
  readonly prior: CtyObject;
  readonly config: CtyObject;
}

async function planUpdate(
  context: VmContext,
  { prior, config, private: bytes }: UpdateRequest,
  attributes: CtyObject,
  before: VmPrivate,
): Promise<PlanResponse> {
  // The id of a VM that stands is what it is, whether the configuration says so or not.
  const settled: CtyObject = { ...attributes, vmid: given(config.vmid === null ? prior : attributes, 'vmid') };
  const wanted = wantedVm(config, { exists: true });
  const kept = keptFor(wanted.vm, before);
  const secretsChanged = await haveSecretsChanged(context, config, wanted, kept);
  const changed = [
    ...Object.keys(USER_ATTRIBUTES).filter((name) => !equalValues(given(settled, name), given(prior, name))),
    ...(secretsChanged ? ['cloud_init'] : []),
    ...(kept.switchedOff ? ['power'] : []),
    ...(isRestartDue(prior, wanted) ? ['restart'] : []),
  ];
  if (changed.length === 0) {
    return { planned: prior, requiresReplace: [], private: bytes, diagnostics: restartNote(prior) };
  }
  const unsettled = unsettledBy(changed);
  const computed = Object.keys(COMPUTED_ATTRIBUTES).map((name): [string, CtyValue] => [
    name,
    unsettled.has(name) ? UNKNOWN : given(prior, name),
  ]);
  const planned: CtyObject = objectOf([...Object.entries<CtyValue>(settled), ...computed]);
  const replaced = replacements(planned, prior);
  if (replaced.length > 0) context.doom(prior);
  const solo = soloOf(wanted, memoryOfState(prior, kept));
  const diagnostics =
    replaced.length > 0
      ? replaced.map((each) => replacementWarning(each, keepsNameAndId(planned, prior)))
      : await checked(context.surroundings, VM_SCHEMA.attributes, async (surroundings) => {
          if (isOpen(wanted, ['name', 'node'])) return [];
          return findingsOf(context, await enginePlan(context, surroundings, solo), wanted);
        });
  return { planned, requiresReplace: replaced.map(({ path }) => path), private: bytes, diagnostics };
}

async function planRemoval(
  context: VmContext,
  prior: CtyObject | null,
  kept: VmPrivate,
  bytes: PrivateState,
): Promise<PlanResponse> {
  const response = { planned: null, requiresReplace: [], private: bytes };
  if (!prior) return { ...response, diagnostics: [] };
  context.doom(prior);
  const solo = soloOf(wantedVm(prior, { exists: true }), memoryOfState(prior, kept));
  const diagnostics = await checked(context.surroundings, VM_SCHEMA.attributes, async (surroundings) => {
    const { looks, signal, clock } = surroundings;
    const stack = soloStack(surroundings, solo);
    const state = soloState(stack.name, solo);
    const observed = await observe({ pve: looks, stack: { ...stack, vms: [] }, state, signal });
    const result = planDestroy({ stack, state, observed, now: clock.now(), running: 'shutdown' });
    return result.ok ? [] : result.problems.map((problem) => diagnosticAt(problem, VM_SCHEMA.attributes));
  });
  return { ...response, diagnostics };
}

function soloOf(wanted: WantedVm, remembered: VmRecord | undefined): SoloVm {
  return { vm: wanted.vm, timeouts: wanted.timeouts, remembered, secrets: new Map() };
}

/** What the host knows is not lost, and one of its VMs may be about to make room for this one. */
async function enginePlan(
  context: VmContext,
  surroundings: Surroundings,
  solo: SoloVm,
  onSeen: (observed: Observed) => void = () => {},
): Promise<PlanResult> {
  const stack = soloStack(surroundings, solo);
  const state = soloState(stack.name, solo);
  return planWithEngine(surroundings, { stack, state, secrets: new Map() }, (observed) => {
    const expected = {
      ...observed,
      takenIds: new Set([...observed.takenIds].filter((vmid) => !context.willBeFree(vmid, solo.vm.fields.name))),
      claimants: new Map([...observed.claimants].filter(([vmid]) => !context.isKnown(vmid))),
    };
    onSeen(expected);
    return expected;
  });
}

function findingsOf(context: VmContext, result: PlanResult, wanted: WantedVm): ProviderDiagnostic[] {
  if (!result.ok) {
    return result.problems
      .filter((problem) => !isPostponed(problem, wanted.unknown))
      .map((problem) => (isTemplateToCome(context, problem, wanted) ? templateToCome(wanted) : problemOf(problem, VM)));
  }
  return [
    ...result.plan.warnings.map((warning) => diagnosticAt(warning, VM_SCHEMA.attributes)),
    ...restartWarning(result.plan),
  ];
}

/** The template is not there yet, and a resource of the same run makes it first. */
function isTemplateToCome(context: VmContext, { code, where }: Diagnostic, { vm }: WantedVm): boolean {
  // Where nothing is there yet, it looks as if nothing could be seen.
  const isAbout = where?.field === 'clone.template' && (code === 'MISSING_REFERENCE' || code === 'PRIVILEGE_MISSING');
  return isAbout && context.isTemplatePlanned(vm.fields.clone?.template ?? '');
}

function templateToCome({ vm }: WantedVm): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The template is made in the same run',
    detail: `${vm.fields.name} is a clone of "${vm.fields.clone?.template}", which is not there yet: whether the two fit together shows when it is.`,
    path: [attribute('clone')],
  };
}

function restartWarning({ changes }: Plan): ProviderDiagnostic[] {
  return changes.flatMap(({ restarts, restartPending, name }): ProviderDiagnostic[] => {
    if (restarts) {
      const detail = `${name} is shut down and started again, because a change takes effect only then.`;
      return [{ severity: 'warning', summary: 'The VM will be restarted', detail }];
    }
    if (restartPending.length === 0) return [];
    return [
      {
        severity: 'warning',
        summary: 'Some changes will wait for a restart',
        detail: `${restartPending.join(', ')}: the new value is felt when ${name} is started next. To have it restarted now, set restart = "when_needed".`,
      },
    ];
  });
}

/** What an earlier run wrote and did not get to: the VM is to be restarted for it, and was not. */
function isRestartDue(state: CtyObject, { vm }: WantedVm): boolean {
  const isPending = Array.isArray(state.restart_pending) && state.restart_pending.length > 0;
  return isPending && vm.fields.restart === 'when_needed';
}

function restartNote(state: CtyObject): ProviderDiagnostic[] {
  const waiting = Array.isArray(state.restart_pending) ? state.restart_pending : [];
  if (waiting.length === 0) return [];
  const detail = `Waiting for the next start of ${textOf(state, 'name')}: ${waiting.join(', ')}.`;
  return [{ severity: 'warning', summary: 'Restart pending', detail }];
}

function isOpen({ unknown }: WantedVm, paths: readonly string[]): boolean {
  return paths.some((path) => unknown.includes(path));
}

/** The value of a secret shows nowhere, so its digest must. */
async function haveSecretsChanged(
  context: VmContext,
  config: CtyObject,
  { vm }: WantedVm,
  kept: VmPrivate,
): Promise<boolean> {
  const { surroundings } = context;
  if (!surroundings || secretFieldsOf(vm.fields).length === 0) return false;
  const digests = appliedDigests(vm, await secretsOf(surroundings, config, vm));
  return Object.entries(digests).some(([path, digest]) => kept.applied[path] !== digest);
}

function given(object: CtyObject, name: string): CtyValue {
  return object[name] ?? null;
}
