/**
 * The plan of one template. If it exists and its recipe is the same, nothing happens. If the recipe changed, a new version
 * is built beside the old one. The old one is renamed only when the new one is complete, and stays, because linked clones
 * use its disks. Pure.
 */

import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../base/hint.ts';
import { type Change, type ChangeKind, UNDETAILED } from '../change.ts';
import { whereOf } from '../fields/positions.ts';
import type { Findings } from '../kind.ts';
import { UNKNOWN_VMID } from '../privileges/need.ts';
import type { StackState } from '../recorded.ts';
import { foreign } from '../safety/foreign.ts';
import type { Step } from '../step.ts';
import { packDesired, withoutSeed } from '../vm/config/packed.ts';
import type { VmObserved } from '../vm/observed.ts';
import { findOwnership, ownershipCounts } from '../vm/ownership.ts';
import { checkVm } from '../vm/plan/checks/checks.ts';
import { pickTemplate } from '../vm/plan/choices/choose-template.ts';
import { creationDifferences, idChoice, reserveStep } from '../vm/plan/creation.ts';
import { desiredConfigOf, seedStep, type VmPlan, type VmPlanInput } from '../vm/plan/desired-vm.ts';
import { destroyed } from '../vm/plan/removal.ts';
import { identityProblem } from '../vm/plan/verdict.ts';
import { cloned, created, desiredValuesOf, emptyVm, type Owner } from '../vm/privileges/forecast.ts';
import type { VmRecord } from '../vm/record.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type CloneInput, type CreateInput, type IdChoice, vmStep } from '../vm/steps.ts';
import { finalFields, guestOf, stepsOfTemplate } from './building.ts';
import { candidateOf, finished } from './foreseen.ts';
import { templateFaults } from './health.ts';
import { type TemplateCandidate, templateKey } from './observed.ts';
import type { ResolvedTemplate } from './stack.ts';
import { templateStep } from './steps.ts';
import { buildVm, type Former, formerOf, holderOf, retiredAddress, retireInput } from './versions.ts';

export interface TemplatePlanInput extends Pick<VmPlanInput, 'stackName' | 'observed' | 'secrets' | 'ids'> {
  readonly template: ResolvedTemplate;
  readonly state: StackState;
  readonly recipe: string;
  /** Rebuild it even if its recipe is the same. */
  readonly replace: boolean;
}

export interface TemplatePlan extends VmPlan {
  /** What its clones are made from once this plan is applied; undefined if the list of guests has it already. */
  readonly foreseen?: TemplateCandidate;
}

/** Undefined when the template cannot be planned; `findings` then has the problem. */
export function planTemplate(input: TemplatePlanInput, findings: Findings): TemplatePlan | undefined {
  const { template, state, observed, recipe } = input;
  const { vm } = template;
  const recorded = state.vms[vm.address];
  const observedVm = recorded && observed.vms.get(vm.address);
  if (!recorded || !observedVm || observedVm.kind === 'gone') return planAbsent(input, findings);
  const problem = identityProblem(vm, recorded, observedVm);
  if (problem || observedVm.kind !== 'present') {
    if (problem) findings.problems.push(problem);
    return undefined;
  }
  const recordedTemplate = recorded.template;
  if (recordedTemplate?.finished && observedVm.vm.template && !input.replace) {
    return recordedTemplate.recipe === recipe
      ? {
          change: changeOf(template, 'none', 'It exists and its recipe is unchanged.', observedVm.vm.vmid),
          steps: [],
          // The list of guests may not have its name yet.
          foreseen: candidateOf(template, observedVm.vm),
        }
      : supersede(input, recorded, findings);
  }
  if (recordedTemplate?.finished) return supersede(input, recorded, findings);
  return recordedTemplate?.recipe === recipe && !input.replace
    ? resume(input, recorded, observedVm.vm, findings)
    : startOver(input, recorded, findings);
}

/** Not in the state. It may still exist, if another stack built it from the same recipe. */
function planAbsent(input: TemplatePlanInput, findings: Findings): TemplatePlan | undefined {
  const { template, recipe } = input;
  const former = formerOf(input);
  if (former) {
    const reason = 'Its recipe changed: a new version is built beside the old one.';
    return build(input, { kind: 'create', reason, former }, findings);
  }
  const holder = holderOf(input);
  if (!holder) return build(input, { kind: 'create', reason: reasonOf(template) }, findings);
  const owner = holder.vm.ok ? findOwnership(holder.vm.value.current.get('description') ?? '') : undefined;
  const isTrue = owner !== undefined && holder.vm.ok && ownershipCounts(owner, holder.vm.value) && !owner.incomplete;
  if (isTrue && owner.recipe === recipe && holder.isTemplate) {
    return { change: changeOf(template, 'none', 'It exists, built from the same recipe.', holder.vmid), steps: [] };
  }
  const isOurs = isTrue && owner.stack === input.stackName && owner.address === template.vm.address;
  findings.problems.push(isOurs ? lost(template, holder) : stranger(template, holder));
  return undefined;
}

function supersede(input: TemplatePlanInput, old: VmRecord, findings: Findings): TemplatePlan | undefined {
  const former = { address: retiredAddress(input.template.name, old.vmid), vmid: old.vmid };
  const first = templateStep(input.template.vm.address, 'template.set-aside', { as: former.address });
  const reason = `${input.replace ? 'It is replaced, because you asked for it' : 'Its recipe changed'}: a new version is built beside ${old.vmid}, which stays for its linked clones.`;
  return build(input, { kind: 'supersede', reason, former, first }, findings);
}

/** An unfinished build of another recipe is destroyed: nothing uses it. */
function startOver(input: TemplatePlanInput, old: VmRecord, findings: Findings): TemplatePlan | undefined {
  const why = input.replace ? 'You asked for it' : 'Its recipe changed before an earlier run finished it';
  const reason = `${why}: it is destroyed and built again.`;
  const former = formerOf(input);
  const first = vmStep(input.template.vm.address, 'vm.destroy', { stop: 'stop' });
  const making = { kind: 'replace', reason, freedId: old.vmid, first, ...(former && { former }) } as const;
  return build(input, making, findings);
}

interface Making {
  readonly kind: ChangeKind;
  readonly reason: string;
  readonly former?: Former;
  readonly freedId?: number;
  /** The step that removes or renames what is in its place. */
  readonly first?: Step;
}

function build(input: TemplatePlanInput, making: Making, findings: Findings): TemplatePlan | undefined {
  const { template, observed, recipe } = input;
  const vm = buildVm(input, making.former);
  if (seedStep(vm) && !template.install) {
    findings.problems.push(unfit(template, SEEDED));
    return undefined;
  }
  const source = template.from === undefined ? undefined : sourceOf(input, findings);
  if (template.from !== undefined && !source) return undefined;
  const base = source?.vm.current ?? new Map<string, string>();
  const before = findings.problems.length;
  checkVm(
    { vm, base, creating: true, ...(making.freedId !== undefined && { freedId: making.freedId }) },
    observed,
    findings,
  );
  const planned = input.ids.choose(vm, making.freedId);
  if (findings.problems.length > before || planned === 'none') return undefined;
  const desired = desiredFor(input, vm);
  const ids = idChoice(vm, planned);
  const make = source
    ? { clone: cloneInput(vm, ids, source, recipe) }
    : { create: createInput(vm, ids, withoutSeed(packDesired(desired.built.values())), recipe) };
  const vmid = planned ?? vm.vmids?.find((id) => !observed.guests.has(id)) ?? UNKNOWN_VMID;
  const bare = emptyVm(vmid, vm.fields.node);
  const owner = ownerOf(input);
  const made =
    'clone' in make
      ? cloned(base, make.clone, bare, owner)
      : created(desiredValuesOf(packDesired(desired.finalised.values()), owner, bare), bare, owner);
  const faults = templateFaults(made.current, guestOf(vm.fields));
  // A copy is checked once it exists, because only then its devices are known.
  if (!source && faults.length > 0) {
    findings.problems.push(...faults.map((fault) => unfit(template, fault)));
    return undefined;
  }
  const retire = making.former && retireInput(template, making.former);
  return {
    change: {
      ...changeOf(template, making.kind, making.reason, planned),
      differences: creationDifferences(desired.finalised, base),
      ...(making.freedId !== undefined && destroyed(observed.vms.get(vm.address))),
    },
    steps: stepsOfTemplate({
      template,
      vm,
      first: [...(making.first ? [making.first] : forgetStep(input)), reserveStep(vm, ids, observed, making.freedId)],
      making: make,
      recorded: undefined,
      isConverted: false,
      desired,
      retire,
    }),
    foreseen: candidateOf(template, finished(made, desired.finalised, owner)),
  };
}

/** It was deleted outside Proxwright, and the state still has its record. */
function forgetStep({ template: { vm }, state }: TemplatePlanInput): Step[] {
  return state.vms[vm.address]?.uuid === undefined ? [] : [vmStep(vm.address, 'vm.forget', {})];
}

/** Such files are meant for one VM, and every clone would get them. */
const SEEDED = {
  detail: 'Custom cloud-init files configure one VM. In a template they are useful only if it installs itself.',
  hint: advice`Set them on the VMs that are cloned from it, or set ${setting('install', {})} if the template uses them to install itself.`,
  field: 'cloud_init',
};

function resume(
  input: TemplatePlanInput,
  recorded: VmRecord,
  observedVm: VmObserved,
  findings: Findings,
): TemplatePlan | undefined {
  const { template } = input;
  const holder = holderOf(input);
  if (holder) {
    findings.problems.push(stranger(template, holder));
    return undefined;
  }
  const former = formerOf(input);
  const vm = buildVm(input, former);
  const desired = desiredFor(input, vm, observedVm);
  const steps = stepsOfTemplate({
    template,
    vm,
    first: [],
    making: undefined,
    recorded: recorded.template,
    isConverted: observedVm.template,
    desired,
    retire: former && retireInput(template, former),
  });
  const change = changeOf(template, 'complete', 'An earlier run did not finish it.', observedVm.vmid);
  return { change, steps, foreseen: candidateOf(template, finished(observedVm, desired.finalised, ownerOf(input))) };
}

function ownerOf({ stackName, template }: TemplatePlanInput): Owner {
  return { stack: stackName, address: template.vm.address };
}

function desiredFor(input: TemplatePlanInput, vm: ResolvedVm, observedVm?: VmObserved) {
  const { template, stackName, observed, secrets, recipe, state } = input;
  const recorded = state.vms[vm.address];
  // Proxwright does not wait for a template to become ready.
  const common = {
    stackName,
    observed,
    secrets,
    recorded,
    recipe,
    mayRestart: false,
    asIncomplete: true,
    readyMs: 0,
  };
  const identity = observedVm && { vmid: observedVm.vmid, uuid: observedVm.uuid };
  const base = observedVm?.current ?? new Map<string, string>();
  const fields = finalFields(vm.fields, base);
  const final = { ...template.vm, fields: { ...fields, name: template.name } };
  return {
    built: desiredConfigOf({ ...common, vm }, identity, base),
    finalised: desiredConfigOf(
      { ...common, vm: { ...vm, fields: template.install ? fields : vm.fields } },
      identity,
      base,
    ),
    final: desiredConfigOf({ ...common, vm: final, asIncomplete: false }, identity, base),
  };
}

function createInput(vm: ResolvedVm, ids: IdChoice, desired: CreateInput['desired'], recipe: string): CreateInput {
  const { node, name, pool } = vm.fields;
  return { node, name, recipe, ...ids, ...(pool !== undefined && { pool }), desired };
}

function cloneInput(vm: ResolvedVm, ids: IdChoice, source: Source, recipe: string): CloneInput {
  const { name, node, pool } = vm.fields;
  return {
    source: { node: source.candidate.node, vmid: source.candidate.vmid },
    name,
    recipe,
    mode: 'full',
    ...ids,
    ...(pool !== undefined && { pool }),
    ...(source.candidate.node !== node && { target: node }),
  };
}

interface Source {
  readonly candidate: TemplateCandidate;
  readonly vm: VmObserved;
}

/** The VM that the template is copied from: a finished guest that is stopped. */
function sourceOf({ template, observed }: TemplatePlanInput, { problems }: Findings): Source | undefined {
  const reference = template.from ?? '';
  const where = whereOf(template.vm, 'from');
  const candidates = observed.templates.get(templateKey(reference)) ?? [];
  const choice = pickTemplate({
    reference,
    preferredNode: template.vm.fields.node,
    // A template can be copied from any VM.
    candidates: candidates.map((candidate) => ({ ...candidate, isTemplate: true })),
    guests: [...observed.guests.values()],
    seesNothing: observed.guests.size === 0,
    where,
    byId: setting('from', { vm: 101 }),
  });
  if (!choice.ok) problems.push(choice.problem);
  return choice.ok ? { candidate: choice.template, vm: choice.vm } : undefined;
}

function changeOf({ vm, name }: ResolvedTemplate, kind: ChangeKind, reason: string, vmid: number | undefined): Change {
  return {
    address: vm.address,
    kind,
    name,
    node: vm.fields.node,
    vmid,
    reason,
    ...UNDETAILED,
  };
}

function reasonOf({ from, install }: ResolvedTemplate): string {
  if (from !== undefined) return `It is copied from ${from} and converted.`;
  return install
    ? 'It installs itself from its ISO and is then converted.'
    : 'It is built from its image and converted.';
}

function unfit({ vm }: ResolvedTemplate, fault: { detail: string; hint: Hint | string; field: string }): Diagnostic {
  const { detail, hint, field } = fault;
  return new ProxwrightError({ code: 'BAD_VALUE', where: whereOf(vm, field), detail, hint }).diagnostic;
}

function stranger({ vm, name }: ResolvedTemplate, { vmid, node, isTemplate }: TemplateCandidate): Diagnostic {
  return foreign({
    where: whereOf(vm),
    why: `"${name}" is ${isTemplate ? 'a template' : 'a VM'} already (${vmid} on ${node}) that was not built from this recipe.`,
    hint: `To clone it as it is, remove "${name}" from templates. To build your own, give it another name.`,
  }).diagnostic;
}

function lost({ vm, name }: ResolvedTemplate, { vmid, node }: TemplateCandidate): Diagnostic {
  return new ProxwrightError({
    code: 'STATE_LOST',
    where: whereOf(vm),
    detail: `By the ownership line in its notes, template ${vmid} ("${name}") on ${node} was built for this stack from an earlier recipe, but its state does not know it. Nothing was changed.`,
    hint: advice`Add it to the state: ${command('state recover')}`,
  }).diagnostic;
}
