/** The plan of the VMs of a stack: one change per VM, what each VM uses, and the VMs that left the file. Pure. */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import type { KindPlan, PlanContext, ResourcePlan } from '../../kind.ts';
import type { Observed, Readable } from '../../observed.ts';
import { mappingsUsed } from '../../pci-mapping/plan.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { neededTemplates, templateToken } from '../../template/in-stack.ts';
import type { ResolvedSecret } from '../desired-config.ts';
import { type CloneInput, vmStep } from '../steps.ts';
import { whereOf } from '../where.ts';
import {
  addressConflicts,
  addressHolders,
  baseOf,
  comparedWith,
  newAddresses,
  notComparedWarning,
} from './addresses.ts';
import { checkRoom, checkVm } from './checks.ts';
import type { VmPlan } from './desired-vm.ts';
import { forkedVms, forkProblem } from './forks.ts';
import { keptProblem, keptVolumes } from './kept-disks.ts';
import { halfMadeProblem, halfMadeVms, lockWarnings } from './locks.ts';
import { lostProblem, lostVms, matchesExactly } from './lost-vms.ts';
import { machineToken, needsCreation, volumesUsed } from './machines.ts';
import { formerAddress } from './moves.ts';
import { uncheckedModel } from './processors.ts';
import { destroyed, removedMachines } from './removal.ts';
import { inRolls } from './roll.ts';
import { planVm } from './verdict.ts';

export function planVms(context: PlanContext): KindPlan {
  const { stack, observed, findings, options } = context;
  const selected = stack.vms.filter(({ address }) => context.isSelected(address));
  const toMake = selected.filter(({ address }) => needsCreation(context, address));
  const claiming = lostVms(stack.name, toMake, observed).filter(
    (each) => !options.strictClaims || matchesExactly(each),
  );
  const halfMade = halfMadeVms(toMake, claiming, context);
  findings.problems.push(...halfMade.map(halfMadeProblem));
  const lost = claiming.filter(({ vmid }) => !halfMade.some(({ held }) => held.vmid === vmid));
  const forked = forkedVms(context);
  findings.problems.push(...forkProblem(forked, context));
  findings.problems.push(...lostProblem(lost.filter(({ vmid }) => !forked.some(({ vm }) => vm.vmid === vmid))));
  const resources: ResourcePlan[] = [];
  for (const vm of selected) {
    // It may exist already, so whether its id is free does not matter.
    if ([...lost, ...halfMade].some(({ desired }) => desired === vm)) continue;
    // The problem of its template is reported already; "no such template" would mislead.
    if (toMake.includes(vm) && isTemplateRefused(vm, context)) {
      checkVm({ vm, base: undefined, creating: true }, observed, findings);
      continue;
    }
    const plan = planOne(vm, context);
    if (plan) resources.push({ ...plan, provides: [machineToken(vm.address)], uses: usesOf(vm, plan.steps, observed) });
  }
  checkRoom(observed, findings);
  findings.problems.push(...context.ids.problems());
  const removed = removedMachines(context, ['vm'], WORDS_OF_REMOVAL);
  const addresses = checkAddresses(
    selected.filter((vm) => !lost.some(({ desired }) => desired === vm)),
    context,
  );
  const isError = ({ severity }: Diagnostic) => severity === 'error';
  return {
    resources: [...inRolls(resources, { stack, observed, replace: options.replace }), ...removed],
    problems: addresses.found.filter(isError),
    warnings: [
      ...warningsOf(selected, context),
      ...lockWarnings(resources, selected, observed),
      ...addresses.found.filter((each) => !isError(each)),
    ],
    checked: addresses.checked,
  };
}

/** Looks at the addresses that VMs get by this plan, and at no others: a conflict that exists already is the doctor's. */
function checkAddresses(
  vms: readonly ResolvedVm[],
  context: PlanContext,
): { readonly found: readonly Diagnostic[]; readonly checked: readonly string[] } {
  const { state, observed, options } = context;
  const given = vms.flatMap((vm) => {
    const found = context.isReplaced(vm.address) ? undefined : observed.vms.get(vm.address);
    const existing = found?.kind === 'present' ? { vm: found.vm, recorded: state.vms[vm.address] } : undefined;
    const addresses = newAddresses(vm, existing);
    return addresses.length > 0 ? [{ vm, addresses }] : [];
  });
  const [first] = given;
  const [address] = first?.addresses ?? [];
  if (!first || !address || !observed.neighbours) return { found: [], checked: [] };
  const holders = addressHolders(context, options.allowDelete === true);
  const conflicts = given.flatMap(({ vm, addresses }) =>
    addressConflicts(vm, addresses, baseOf(vm, observed), holders),
  );
  return { found: [...conflicts, ...notComparedWarning(first.vm, address, observed)], checked: comparedWith(observed) };
}

const WORDS_OF_REMOVAL = {
  forget: 'It is no longer on the cluster or in the file. Proxwright removes it from the state.',
  delete: 'It is no longer in the file.',
  keep: 'It is not in the file. Proxwright keeps it; only --allow-delete deletes it.',
};

/** Whether it is cloned from a template of the stack that could not be planned. */
function isTemplateRefused(vm: ResolvedVm, { stack, planned }: PlanContext): boolean {
  const addresses = new Set(planned.map(({ change }) => change?.address));
  return neededTemplates(stack, [vm]).some((template) => !addresses.has(template.vm.address));
}

function usesOf(vm: ResolvedVm, steps: readonly Step[], observed: Observed): string[] {
  const templates = steps.flatMap(({ action, input }) => {
    const { source } = action === 'vm.clone' ? (input as CloneInput) : {}; // the input of this action
    return source?.address === undefined ? [] : [templateToken(source.address)];
  });
  return [...mappingsUsed(vm, observed), ...volumesUsed(vm), ...templates, ...vm.after.map(machineToken)];
}

function planOne(vm: ResolvedVm, context: PlanContext): VmPlan | undefined {
  const { stack, state, options, findings } = context;
  const recorded = state.vms[vm.address];
  const common = {
    stackName: stack.name,
    lineage: state.lineage,
    vm,
    observed: context.observed,
    secrets: context.secrets.get(vm.address) ?? new Map<string, ResolvedSecret>(),
    mayRestart: options.allowRestart === true || vm.fields.restart === 'when_needed',
    asIncomplete: options.asIncomplete === true,
    readyMs: stack.rollout.timeouts.readyMs,
    diskMoveBytesPerSecond: stack.rollout.diskMoveBytesPerSecond,
    destroyData: options.destroyData,
    ids: context.ids,
  };
  if (!recorded || !context.isReplaced(vm.address)) {
    return renamed(vm, context, planVm({ ...common, recorded }, findings));
  }
  const observedVm = context.observed.vms.get(vm.address);
  const keeping = { address: vm.address, vm, recorded, observedVm, destroyData: options.destroyData ?? [] };
  const kept = keptProblem(keeping, keptVolumes(keeping), 'apply');
  if (kept) findings.problems.push(kept);
  const made = kept ? undefined : planVm({ ...common, recorded: undefined, freedId: recorded.vmid }, findings);
  if (!made) return undefined;
  const change = {
    ...made.change,
    kind: 'replace' as const,
    vmid: recorded.vmid,
    reason: `It is replaced, because you asked for it.${newId(made.change.vmid, recorded.vmid)}`,
    ...destroyed(context.observed.vms.get(vm.address)),
  };
  const destroy = vmStep(vm.address, 'vm.destroy', { stop: 'shutdown' });
  return renamed(vm, context, { change, steps: precededBy(destroy, made.steps) });
}

function newId(planned: number | undefined, before: number): string {
  return planned === undefined || planned === before ? '' : ` The new VM gets the id ${planned}.`;
}

/** A VM whose group was renamed keeps its identity: what is recorded of it moves to its new address first. */
function renamed(vm: ResolvedVm, { recordedState }: PlanContext, plan: VmPlan | undefined): VmPlan | undefined {
  const from = formerAddress(vm, recordedState);
  if (!plan || !from) return plan;
  const { change } = plan;
  return {
    change: change.kind === 'none' ? { ...change, kind: 'update', reason: `It was ${from} before.` } : change,
    steps: precededBy(vmStep(vm.address, 'vm.take-from', { from }), plan.steps),
  };
}

function precededBy(before: Step, [first, ...rest]: readonly Step[]): Step[] {
  return first ? [before, { ...first, needs: [...first.needs, before.id] }, ...rest] : [before];
}

interface Unchecked {
  readonly path: string;
  readonly what: string;
  readonly needs: string;
}

/** "Not checked: needs X": what the token may not read is reported once, at the first VM that it concerns. */
function warningsOf(vms: readonly ResolvedVm[], context: PlanContext): Diagnostic[] {
  const first = new Map<string, { readonly vm: ResolvedVm; readonly unchecked: Unchecked }>();
  for (const vm of vms) {
    for (const unchecked of uncheckedOf(vm, context)) {
      if (!first.has(unchecked.what)) first.set(unchecked.what, { vm, unchecked });
    }
  }
  return [...first.values()].map(({ vm, unchecked: { path, what, needs } }) => ({
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail: `${what} could not be checked: the token needs ${needs}.`,
    where: whereOf(vm, path),
    facts: { needs },
  }));
}

function uncheckedOf(vm: ResolvedVm, context: PlanContext): Unchecked[] {
  const { observed } = context;
  const { node, nics, pci, ha, pool, cpu } = vm.fields;
  const found: Unchecked[] = [];
  const look = (path: string, what: string, read: Readable<unknown> | { needs: string } | undefined) => {
    if (read && 'needs' in read) found.push({ path, what, needs: read.needs });
  };
  look('', `The storages of ${node}`, observed.storages.get(node));
  if (nics) look('nics', `The bridges of ${node}`, observed.bridges.get(node));
  if (pci) look('pci', 'PCI mappings', observed.pciMappings);
  if (ha !== undefined) look('ha', 'High availability', observed.ha);
  if (pool !== undefined && needsCreation(context, vm.address)) {
    look('pool', `Whether pool "${pool}" exists`, observed.pools?.get(pool));
  }
  if (cpu?.type !== undefined) look('cpu.type', `Whether CPU model "${cpu.type}" exists`, uncheckedModel(vm, observed));
  return found;
}
