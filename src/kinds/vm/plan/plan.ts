/** The plan of the VMs of a stack: one change per VM, what each VM uses, and the VMs that left the file. Pure. */
import { type Address, covers, replacedAddress } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import type { ResolvedSecret } from '../../../base/secret.ts';
import type { Change } from '../../change.ts';
import type { Readable } from '../../cluster.ts';
import { whereOf } from '../../fields/positions.ts';
import type { KindPlan, PlanContext, ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { mappingsUsed } from '../../pci-mapping/plan.ts';
import { isCreationUnfinished } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { neededTemplates, templateToken } from '../../template/foreseen.ts';
import { unreadDirectories } from '../observe/shared-directories.ts';
import { NODE_NOT_CHOSEN } from '../placement/candidates.ts';
import type { Choice } from '../placement/choose.ts';
import { placeVms } from '../placement/place.ts';
import { roomAfter, zonesByNode } from '../placement/room.ts';
import type { ResolvedVm } from '../stack.ts';
import { vmStep, vmSteps } from '../steps.ts';
import {
  addressConflicts,
  addressHolders,
  baseOf,
  comparedWith,
  newAddresses,
  notComparedWarning,
} from './checks/addresses.ts';
import { checkVm } from './checks/checks.ts';
import { forkedVms, forkProblem } from './checks/forks.ts';
import { halfMadeProblem, halfMadeVms, lockWarnings } from './checks/locks.ts';
import { lostProblem, lostVms, matchesExactly } from './checks/lost-vms.ts';
import { uncheckedModel } from './checks/processors.ts';
import { checkRoom } from './checks/room.ts';
import { chained } from './creation.ts';
import type { VmPlan } from './desired-vm.ts';
import { machineToken, needsCreation, volumesUsed } from './machines.ts';
import { formerAddress } from './moves.ts';
import { destroyed, removedHolders, removedMachines } from './removal.ts';
import { carriedFrom, carriedThrough, holdingOf } from './replace/carried.ts';
import {
  besideOld,
  createsFirst,
  oldProblem,
  type SetAside,
  Spares,
  setAsideOf,
  withOld,
} from './replace/create-first.ts';
import { reuseRoom } from './replace/freed-room.ts';
import { keptMacs } from './replace/kept-macs.ts';
import { followsTemplate, rebuiltTemplates } from './replace/template-change.ts';
import { inRolls, withRemovalHooks } from './roll/roll.ts';
import { planVm } from './verdict.ts';

export function planVms(unplaced: PlanContext): KindPlan {
  const { stack, chosen, problems: unplaceable } = placeVms(unplaced);
  const context = { ...withTemplateChanges({ ...unplaced, stack }), spares: new Spares() };
  const { observed, findings, options } = context;
  findings.problems.push(...unplaceable);
  const selected = stack.vms.filter((vm) => context.isSelected(vm.address) && vm.fields.node !== NODE_NOT_CHOSEN);
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
    if (plan)
      resources.push({
        ...plan,
        change: withPlace(plan.change, vm, stack, chosen),
        provides: [machineToken(vm.address)],
        uses: usesOf(vm, plan.steps, observed),
      });
  }
  checkRoom(observed, findings);
  findings.problems.push(...context.ids.problems());
  const removed = [...removedMachines(context, ['vm', 'replaced'], WORDS_OF_REMOVAL), ...removedHolders(context)];
  const addresses = checkAddresses(
    selected
      .filter((vm) => !lost.some(({ desired }) => desired === vm))
      .map((vm) => context.spares.besides.get(vm.address) ?? vm),
    context,
  );
  const { replace, hooks, allowRestart } = options;
  const rolls = { stack, state: context.state, observed, replace, hooks, allowRestart };
  const isError = ({ severity }: Diagnostic) => severity === 'error';
  return {
    resources: [...inRolls(resources, rolls), ...removed.map((plan) => withRemovalHooks(plan, rolls))],
    problems: addresses.found.filter(isError),
    stack,
    warnings: [
      ...roomWarning(selected, chosen, observed),
      ...warningsOf(selected, context),
      ...lockWarnings(resources, selected, observed),
      ...addresses.found.filter((each) => !isError(each)),
    ],
    checked: addresses.checked,
    room: roomAfter([...context.planned, ...resources, ...removed], stack, observed, findings),
  };
}

/** Node, zone and, where this plan chose the node, why. */
function withPlace(
  change: Change,
  { address, placement }: ResolvedVm,
  stack: ResolvedStack,
  chosen: ReadonlyMap<string, Choice>,
): Change {
  const zone = zonesByNode(stack).get(change.node);
  const [choice, isListed] = [
    chosen.get(address),
    placement?.nodes === 'all' || placement?.nodes.includes(change.node),
  ];
  const place = zone === undefined ? change.node : `${change.node} (zone ${zone})`;
  const notes = choice
    ? [`placed on ${place}: ${choice.reason}`]
    : placement && !isListed
      ? [`on ${change.node}, which "nodes" does not name; an existing VM stays where it is`]
      : [];
  return {
    ...change,
    ...(zone !== undefined && { zone }),
    ...(choice && { placement: choice.reason }),
    ...(notes.length > 0 && { notes: [...(change.notes ?? []), ...notes] }),
  };
}

/** Nodes were compared without their memory: the choice may overcommit them. */
function roomWarning(
  vms: readonly ResolvedVm[],
  chosen: ReadonlyMap<string, Choice>,
  { nodes }: Observed,
): Diagnostic[] {
  const [first] = vms.filter(({ address }) => chosen.has(address));
  const unread = [...nodes].filter(([, { online, memory }]) => online && !memory).map(([name]) => name);
  if (!first || unread.length === 0) return [];
  const needs = 'Sys.Audit on /nodes';
  return [
    {
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `The free memory and cores of ${unread.join(', ')} could not be compared: the token needs ${needs}.`,
      where: whereOf(first, 'nodes'),
      facts: { needs },
    },
  ];
}

/** VMs that follow their template count as replaced, too. */
function withTemplateChanges(context: PlanContext): PlanContext {
  const { stack, state, observed } = context;
  const rebuilt = rebuiltTemplates(context);
  const outdated = { stack, state, guests: observed.guests, isRebuilt: (address: Address) => rebuilt.has(address) };
  const followers = new Set(stack.vms.filter((vm) => followsTemplate(vm, outdated)).map(({ address }) => address));
  return { ...context, isReplaced: (address) => context.isReplaced(address) || followers.has(address) };
}

/** Checks only addresses that this plan assigns: `doctor` reports conflicts that exist already. */
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
  const templates = vmSteps(steps, 'vm.clone').flatMap(({ input: { source } }) =>
    source.address === undefined ? [] : [templateToken(source.address)],
  );
  return [...mappingsUsed(vm, observed), ...volumesUsed(vm), ...templates, ...vm.after.map(machineToken)];
}

type OneContext = PlanContext & { readonly spares: Spares };

function planOne(vm: ResolvedVm, context: OneContext): VmPlan | undefined {
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
    claimsAlone: options.claimsAlone,
    readyMs: stack.rollout.timeouts.readyMs,
    diskMoveBytesPerSecond: stack.rollout.diskMoveBytesPerSecond,
    destroyData: options.destroyData,
    ids: context.ids,
  };
  const observedVm = context.observed.vms.get(vm.address);
  const before = findings.problems.length;
  const held = carriedFrom(holdingOf(vm.address, context), vm, observedVm, findings.problems);
  const old = setAsideOf(vm.address, context);
  const oldOne = old && oldProblem(vm, old);
  if (oldOne) findings.problems.push(oldOne);
  if (findings.problems.length > before) return undefined;
  if (!recorded || !context.isReplaced(vm.address)) {
    // Also if an administrator removed what an interrupted destroy had left of the old VM.
    const isMade = !recorded || isCreationUnfinished(recorded) || observedVm?.kind === 'gone';
    const takenOverMacs = isMade ? state.outages?.[vm.address]?.keeps?.macs : undefined;
    // An interrupted run set the old VM aside and chose nothing for the new one yet.
    const isOpen = old && !recorded;
    const beside = isOpen ? besideOld(vm, context, findings.problems) : vm;
    const plan = planVm({ ...common, vm: beside, recorded, carried: held, takenOverMacs }, findings);
    if (findings.problems.length > before) return undefined;
    return renamed(vm, context, plan && old ? withOld(beside, plan, old, false, '') : plan);
  }
  if (!old && createsFirst(vm, recorded, observedVm, context)) {
    const first: SetAside = { address: replacedAddress(vm.address), recorded, found: observedVm };
    const beside = besideOld(vm, context, findings.problems);
    const problem = held ? undefined : oldProblem(vm, first);
    if (problem) findings.problems.push(problem);
    const plan = planVm({ ...common, vm: beside, recorded: undefined, carried: held }, findings);
    if (!plan || findings.problems.length > before) return undefined;
    return renamed(vm, context, withOld(beside, plan, first, true, replaceReason(vm, context)));
  }
  const replacement = carriedThrough(vm, { ...context, recorded, observedVm }, held);
  const { carried } = replacement;
  const takenOverMacs = keptMacs(recorded, observedVm, state.outages?.[vm.address]);
  const neededBefore = new Map(findings.neededBytes);
  const made = planVm({ ...common, recorded: undefined, freedId: recorded.vmid, carried, takenOverMacs }, findings);
  if (made) findings.problems.push(...replacement.problems);
  if (!made || findings.problems.length > before) return undefined;
  const gone = destroyed(observedVm, carried?.slots);
  if (observedVm?.kind === 'present')
    reuseRoom(findings.neededBytes, neededBefore, observedVm.vm.node, gone.destroys ?? []);
  const change = {
    ...made.change,
    kind: 'replace' as const,
    vmid: recorded.vmid,
    reason: `${replaceReason(vm, context)}${newId(made.change.vmid, recorded.vmid)}`,
    ...gone,
  };
  const plan = { change, steps: chained([...replacement.steps, ...made.steps]) };
  return renamed(vm, context, old ? withOld(vm, plan, old, false, '') : plan);
}

function replaceReason({ address, fields }: ResolvedVm, { options: { replace = [] }, state }: PlanContext): string {
  if (replace.some((selector) => covers(selector, address))) return 'It is replaced, because you asked for it.';
  const { source } = state.vms[address] ?? {};
  return `It is replaced, because it was made from ${source?.vmid}, and the template ${fields.clone?.template} is another one now.`;
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
  for (const { path, mapping, ...read } of unreadDirectories(vm, observed)) {
    look(path, `The directory mapping "${mapping}"`, read);
  }
  return found;
}
