/**
 * (ResolvedStack, StackState, Observed) → Plan: pure, synchronous, calls nothing. Either a plan, or everything that speaks
 * against one.
 */
import { type Address, covers, kindOf } from '../base/address.ts';
import type { Instant } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { PLAN_VERSION, type Plan, UNDETAILED } from '../kinds/change.ts';
import { fingerprint, vmFingerprint } from '../kinds/fingerprint.ts';
import { type ImagePlan, planImages } from '../kinds/image/plan.ts';
import { machinesOf } from '../kinds/machines.ts';
import type { Observed, ObservedVm } from '../kinds/observed.ts';
import { pciMapSteps } from '../kinds/pci-mapping/plan.ts';
import { devicesUsedTwice } from '../kinds/pci-mapping/sharing.ts';
import type { StackState } from '../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../kinds/stack.ts';
import type { Step } from '../kinds/step.ts';
import { imagesUsed, neededImages, neededTemplates, templatesUsed, withForeseen } from '../kinds/template/in-stack.ts';
import { planTemplate, type TemplatePlan } from '../kinds/template/plan.ts';
import { recipeOf } from '../kinds/template/recipe.ts';
import type { ResolvedSecret } from '../kinds/vm/desired-config.ts';
import { checkRoom, checkVm, type Findings } from '../kinds/vm/plan/checks.ts';
import type { VmPlan } from '../kinds/vm/plan/desired-vm.ts';
import { isVeryOne, lostProblem, lostVms } from '../kinds/vm/plan/lost-vms.ts';
import { movesOf, withMoves } from '../kinds/vm/plan/moves.ts';
import { planVm } from '../kinds/vm/plan/verdict.ts';
import { vmStep } from '../kinds/vm/steps.ts';
import { whereOf } from '../kinds/vm/where.ts';

export interface PlanInput {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  /** By address, then by field path. */
  readonly secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;
  readonly now: Instant;
  /** Addresses or groups; empty means everything. */
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  /** Restart where a change needs it, whatever the file says. */
  readonly allowRestart?: boolean;
  /** VMs to be made anew. */
  readonly replace?: readonly string[];
  /** The ownership lines go on saying that the VMs are not complete: their maker has more to do than this plan knows. */
  readonly asIncomplete?: boolean;
  /** A VM counts as lost only where its line names the address and, where the file gives an id, the VM has it. */
  readonly strictClaims?: boolean;
}

export type PlanResult =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly problems: readonly Diagnostic[] };

export function planStack(given: PlanInput): PlanResult {
  const { stack } = given;
  const state = withMoves(stack, given.state);
  const findings: Findings = { problems: [], neededBytes: new Map() };
  const selected = stack.vms.filter((vm) => isSelected(given.only, vm.address));
  const templates = planTemplates(given, state, selected, findings);
  const images = planImages({
    sites: neededImages(given, selected, templates),
    version: given.observed.version,
    state,
    replace: given.replace,
  });
  findings.problems.push(...images.problems);
  // VMs are planned on the cluster as the templates will have left it.
  const observed = withForeseen(given.observed, templates);
  const input = { ...given, observed };
  const plans: VmPlan[] = [];
  const lost = lostVms(
    stack.name,
    selected.filter(({ address }) => isToBeMade(state, observed, address)),
    observed,
  ).filter((each) => !given.strictClaims || isVeryOne(each));
  findings.problems.push(...lostProblem(lost));
  for (const vm of selected) {
    // Whether its id is free, and all the rest, is no question while it may be there already.
    if (lost.some(({ wantedBy }) => wantedBy === vm)) continue;
    // What is wrong with its template was said; that there is none would only lead astray.
    if (isToBeMade(state, observed, vm.address) && isRefused(stack, vm, templates)) {
      checkVm({ vm, base: undefined, creating: true }, observed, findings);
      continue;
    }
    const plan = planOne(input, state, vm, findings);
    if (plan) plans.push(plan);
  }
  checkRoom(observed, findings);
  findings.problems.push(...devicesUsedTwice(stack.vms, selected, observed));
  if (findings.problems.length > 0) return { ok: false, problems: findings.problems };
  const removed = plansForRemoved(input, state);
  const mappings = pciMapSteps(selected, observed);
  const machines = [...templates, ...plans];
  const steps = [
    ...mappings.map(({ step }) => step),
    ...images.plans.flatMap(({ steps: each }) => each),
    ...withDependencies({ machines, vms: selected, mappings, images: images.plans }),
    ...removed.flatMap(({ steps: each }) => each),
  ];
  return {
    ok: true,
    plan: {
      version: PLAN_VERSION,
      stack: stack.name,
      createdAt: new Date(input.now).toISOString(),
      changes: [...images.plans, ...machines, ...removed].map(({ change }) => change),
      steps,
      warnings: [...images.warnings, ...warningsOf(selected, observed)],
      fingerprints: fingerprintsOf(given),
    },
  };
}

/** The cluster as the templates of the stack will have left it: what clones of them will take can be told from that. */
export function foresee(input: PlanInput): Observed {
  const findings: Findings = { problems: [], neededBytes: new Map() };
  const templates = planTemplates(input, withMoves(input.stack, input.state), input.stack.vms, findings);
  return withForeseen(input.observed, templates);
}

export function fingerprintsOf(input: Pick<PlanInput, 'stack' | 'state' | 'observed'>): Plan['fingerprints'] {
  const vms = [...input.observed.vms].map(([address, vm]): [string, string] => [address, vmFingerprint(vm)]);
  return {
    stack: fingerprint([
      input.stack.vms.map(({ address, fields, after }) => ({ address, fields, after })),
      input.stack.templates.map(({ vm: { address, fields }, from, install }) => ({ address, fields, from, install })),
      input.stack.images.map(({ address, fields, file, nodes }) => ({ address, fields, file, nodes })),
    ]),
    state: fingerprint([input.state.vms, input.state.files]),
    vms: Object.fromEntries(vms),
  };
}

function isToBeMade(state: StackState, observed: Observed, address: Address): boolean {
  const found = observed.vms.get(address);
  return !state.vms[address] || !found || found.kind === 'gone';
}

/** Whether it is cloned from a template of the stack that cannot be planned. */
function isRefused(stack: ResolvedStack, vm: ResolvedVm, planned: readonly TemplatePlan[]): boolean {
  const addresses = new Set(planned.map(({ change }) => change.address));
  return neededTemplates(stack, [vm]).some((template) => !addresses.has(template.vm.address));
}

function isSelected(only: readonly string[] | undefined, address: Address): boolean {
  return !only || only.length === 0 || only.some((selector) => covers(selector, address));
}

function planOne(input: PlanInput, state: StackState, vm: ResolvedVm, findings: Findings): VmPlan | undefined {
  const remembered = state.vms[vm.address];
  const secrets = input.secrets.get(vm.address) ?? new Map<string, ResolvedSecret>();
  const common = {
    stackName: input.stack.name,
    vm,
    observed: input.observed,
    secrets,
    mayRestart: input.allowRestart === true || vm.fields.restart === 'when_needed',
    asIncomplete: input.asIncomplete === true,
    readyMs: input.stack.rollout.timeouts.readyMs,
  };
  const replace = remembered !== undefined && (input.replace ?? []).some((selector) => covers(selector, vm.address));
  if (!replace) return renamed(input, vm, planVm({ ...common, recorded: remembered }, findings));
  const made = planVm({ ...common, recorded: undefined, freedId: remembered.vmid }, findings);
  if (!made) return undefined;
  const destroy = vmStep(vm.address, 'vm.destroy', { stop: 'shutdown' });
  const steps = precededBy(destroy, made.steps);
  const change = {
    ...made.change,
    kind: 'replace' as const,
    vmid: remembered.vmid,
    reason: 'It is made anew, as asked for.',
  };
  return renamed(input, vm, { change, steps });
}

/** A VM whose group was renamed keeps its identity: what is recorded of it moves to its new address first. */
function renamed({ stack, state }: PlanInput, { address }: ResolvedVm, plan: VmPlan | undefined): VmPlan | undefined {
  const move = movesOf(stack, state).find(({ to }) => to === address);
  if (!plan || !move) return plan;
  const takeFrom = vmStep(address, 'vm.take-from', { from: move.from });
  const { change } = plan;
  return {
    change: change.kind === 'none' ? { ...change, kind: 'update', reason: `It was ${move.from} before.` } : change,
    steps: precededBy(takeFrom, plan.steps),
  };
}

function precededBy(before: Step, [first, ...rest]: readonly Step[]): Step[] {
  return first ? [before, { ...first, needs: [...first.needs, before.id] }, ...rest] : [before];
}

/** Templates that are selected themselves, and those that selected VMs are about to be cloned from. */
function planTemplates(
  input: PlanInput,
  state: StackState,
  vms: readonly ResolvedVm[],
  findings: Findings,
): TemplatePlan[] {
  const { stack, observed, replace = [] } = input;
  const isAnew = (address: Address) => replace.some((selector) => covers(selector, address));
  const toMake = vms.filter(({ address }) => isToBeMade(state, observed, address) || isAnew(address));
  const needed = new Set(neededTemplates(stack, toMake));
  return stack.templates.flatMap((template) => {
    const { address } = template.vm;
    if (!isSelected(input.only, address) && !needed.has(template)) return [];
    const plan = planTemplate(
      {
        stackName: stack.name,
        template,
        state,
        observed,
        secrets: input.secrets.get(address) ?? new Map<string, ResolvedSecret>(),
        recipe: recipeOf(template, stack, input.secrets),
        replace: isAnew(address),
      },
      findings,
    );
    return plan ? [plan] : [];
  });
}

interface Dependencies {
  /** Templates, then VMs. */
  readonly machines: readonly VmPlan[];
  readonly vms: readonly ResolvedVm[];
  readonly mappings: ReturnType<typeof pciMapSteps>;
  readonly images: readonly ImagePlan[];
}

/** A machine waits for the mappings and images it uses, for its template, and for the VMs it names in `after`. */
function withDependencies({ machines, vms, mappings, images }: Dependencies): Step[] {
  const lastStep = new Map(machines.map(({ change, steps }) => [change.address, steps.at(-1)?.id]));
  const after = new Map(vms.map((vm) => [vm.address, vm.after]));
  return machines.flatMap(({ change, steps }) => {
    const needs = [
      ...mappings.flatMap(({ step, vms: users }) =>
        users.some(({ address }) => address === change.address) ? [step.id] : [],
      ),
      ...imagesUsed(steps, change.node, images),
      ...templatesUsed(steps).flatMap((address) => lastStep.get(address) ?? []),
      ...(after.get(change.address) ?? []).flatMap((address) => lastStep.get(address) ?? []),
    ];
    return steps.map((step, index) => (index === 0 ? { ...step, needs: [...step.needs, ...needs] } : step));
  });
}

/** VMs of the state that left the file: deleted only where that was allowed. */
function plansForRemoved(input: PlanInput, state: StackState): VmPlan[] {
  const inFile = new Set<string>(machinesOf(input.stack).map(({ address }) => address));
  return Object.entries(state.vms)
    .filter(([address]) => !inFile.has(address) && isSelected(input.only, address as Address))
    .map(([key, remembered]): VmPlan => {
      const address = key as Address; // keys of the state are addresses
      const found = input.observed.vms.get(address);
      const kind = found?.kind === 'gone' ? 'forget' : input.allowDelete ? 'delete' : 'keep';
      const isRetired = kindOf(address) === 'retired';
      const reasons = {
        forget: isRetired
          ? 'An earlier version of a template, gone from the cluster; it is forgotten.'
          : 'It is gone from the cluster and from the file; it is forgotten.',
        delete: isRetired ? 'An earlier version of a template.' : 'It left the file.',
        keep: isRetired
          ? 'An earlier version of a template, kept for its linked clones; only --allow-delete deletes it.'
          : 'It is not in the file, and kept; only --allow-delete deletes it.',
      };
      return {
        change: {
          address,
          kind,
          name: nameNow(found) ?? remembered.name,
          node: remembered.node,
          vmid: remembered.vmid,
          reason: reasons[kind],
          ...UNDETAILED,
        },
        steps:
          kind === 'keep'
            ? []
            : [vmStep(address, 'vm.destroy', { stop: 'shutdown', ...(isRetired && { mayStayInUse: true }) })],
      };
    });
}

/** An earlier version of a template has given up its name. */
function nameNow(found: ObservedVm | undefined): string | undefined {
  return found?.kind === 'present' ? found.vm.current.get('name') : undefined;
}

/** "Not checked: needs X": what the token may not read is said once. */
function warningsOf(vms: readonly ResolvedVm[], observed: Observed): Diagnostic[] {
  const warnings: Diagnostic[] = [];
  const warn = (vm: ResolvedVm, path: string, what: string, needs: string) =>
    warnings.push({
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `${what} could not be checked: the token needs ${needs}.`,
      where: whereOf(vm, path),
    });
  const said = new Set<string>();
  for (const vm of vms) {
    const { node } = vm.fields;
    const storages = observed.storages.get(node);
    const bridges = observed.bridges.get(node);
    if (storages && !storages.ok && !said.has(`storage ${node}`))
      warn(vm, '', `The storages of ${node}`, storages.needs);
    if (bridges && !bridges.ok && vm.fields.nics && !said.has(`bridge ${node}`)) {
      warn(vm, 'nics', `The bridges of ${node}`, bridges.needs);
    }
    if (vm.fields.pci && !observed.pciMappings.ok && !said.has('pci')) {
      warn(vm, 'pci', 'PCI mappings', observed.pciMappings.needs);
    }
    if (vm.fields.ha !== undefined && observed.ha?.ok === false && !said.has('ha')) {
      warn(vm, 'ha', 'High availability', observed.ha.needs);
    }
    for (const key of [
      `storage ${node}`,
      `bridge ${node}`,
      ...(vm.fields.pci ? ['pci'] : []),
      ...(vm.fields.ha === undefined ? [] : ['ha']),
    ])
      said.add(key);
  }
  return warnings;
}
