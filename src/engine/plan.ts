/**
 * (ResolvedStack, StackState, Observed) → Plan: pure, synchronous, calls nothing. Either a plan, or every problem that
 * prevents one. Each kind plans its own resources; this file selects, links and orders them.
 */
import { type Address, covers } from '../base/address.ts';
import type { Instant } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { type Change, PLAN_VERSION, type Plan, type PlannedWith, rollsOf } from '../kinds/change.ts';
import { fingerprint } from '../kinds/fingerprint.ts';
import { PlannedIds } from '../kinds/ids.ts';
import type {
  DestroyContext,
  KindPlan,
  ObserveContext,
  PlanContext,
  PlanOptions,
  RelocateOptions,
  ResourcePlan,
  Secrets,
  SnapshotOptions,
} from '../kinds/kind.ts';
import type { Observed } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import {
  type AnyKind,
  givenStack,
  isDestroyedByDefault,
  KINDS,
  locatedStack,
  PLANNED_FIRST,
  PLANNING_ORDER,
  renamedState,
} from '../kinds/registry.ts';
import { machinesOf, type ResolvedStack } from '../kinds/stack.ts';
import type { Step } from '../kinds/step.ts';

export interface PlanInput extends PlanOptions {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  readonly secrets: Secrets;
  readonly now: Instant;
}

export type PlanResult =
  /** `stack`: with the nodes that the plan chose. */
  | { readonly ok: true; readonly plan: Plan; readonly stack?: ResolvedStack }
  | { readonly ok: false; readonly problems: readonly Diagnostic[] };

export function planStack(input: PlanInput): PlanResult {
  const { plans, problems, stack } = planKinds(input, PLANNING_ORDER);
  if (problems.length > 0) return { ok: false, problems };
  const all = KINDS.flatMap((kind) => plans.get(kind)?.resources ?? []);
  const resources = [...all.filter(({ isRemoval }) => !isRemoval), ...all.filter(({ isRemoval }) => isRemoval)];
  const warnings = KINDS.flatMap((kind) => plans.get(kind)?.warnings ?? []);
  const checked = KINDS.flatMap((kind) => plans.get(kind)?.checked ?? []);
  const plan = planOf(input, resources, linked(resources), warnings);
  const more = { ...(checked.length > 0 && { checked }), ...roomOf([...plans.values()]) };
  return { ok: true, plan: { ...plan, options: optionsOf(input), ...more }, stack };
}

/** The cluster once everything is built that other resources are made from: their needs follow from it. */
export function foresee(input: PlanInput): Observed {
  return planKinds({ ...input, only: [] }, PLANNED_FIRST).observed;
}

interface PlannedKinds {
  readonly plans: ReadonlyMap<AnyKind, KindPlan>;
  readonly problems: readonly Diagnostic[];
  readonly observed: Observed;
  readonly stack: ResolvedStack;
}

/** Each kind sees the cluster, and the resources, as the kinds before it will leave them. */
function planKinds(input: PlanInput, kinds: readonly AnyKind[]): PlannedKinds {
  const { secrets, only = [], replace = [] } = input;
  let stack = givenStack(input.stack, renamedState(input.stack, input.state));
  const plans = new Map<AnyKind, KindPlan>();
  const problems: Diagnostic[] = [];
  let { observed } = input;
  const context: Omit<PlanContext, 'stack' | 'observed' | 'planned'> = {
    state: renamedState(stack, input.state),
    recordedState: input.state,
    secrets,
    options: input,
    findings: { problems, neededBytes: new Map() },
    ids: new PlannedIds({
      machines: machinesOf(stack),
      state: renamedState(stack, input.state),
      observed,
      isActive: input.chooseIds !== false,
    }),
    isSelected: (address) => only.length === 0 || only.some((selector) => covers(selector, address)),
    isReplaced: (address) => replace.some((selector) => covers(selector, address)),
  };
  for (const kind of kinds) {
    const planned = [...plans.values()].flatMap(({ resources }) => resources);
    const plan = kind.plan({ ...context, stack, observed, planned });
    plans.set(kind, plan);
    problems.push(...plan.problems);
    observed = plan.foreseen ?? observed;
    stack = plan.stack ?? stack;
  }
  return { plans, problems, observed, stack };
}

/** The first step of a resource waits for the last step of every resource that provides what it uses. */
function linked(resources: readonly ResourcePlan[]): Step[] {
  const providers = new Map<string, string>();
  for (const { provides = [], steps } of resources) {
    const last = steps.at(-1);
    if (last) for (const token of provides) providers.set(token, last.id);
  }
  return resources.flatMap(({ steps: [first, ...rest], uses = [] }) => {
    if (!first) return [];
    const needs = [...new Set(uses.flatMap((token) => providers.get(token) ?? []))];
    return [{ ...first, needs: [...first.needs, ...needs] }, ...rest];
  });
}

export interface DestroyInput {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  readonly now: Instant;
  readonly only?: readonly string[];
  /** What to do with a VM that runs. */
  readonly running: DestroyContext['running'];
  /** Also templates and images, which other stacks may use. */
  readonly all?: boolean;
  /** Names of VMs whose kept disks may be destroyed. */
  readonly destroyData?: readonly string[];
}

/** The plan that destroys a stack: everything it owns, in the reverse order of creation. Pure. */
export function planDestroy(input: DestroyInput): PlanResult {
  const { observed, running, only = [] } = input;
  const stack = locatedStack(input.stack, renamedState(input.stack, input.state), observed);
  const isSelected = (address: Address) =>
    only.length > 0
      ? only.some((selector) => covers(selector, address))
      : input.all === true || isDestroyedByDefault(address);
  const context: DestroyContext = {
    stack,
    state: renamedState(stack, input.state),
    recordedState: input.state,
    observed,
    running,
    destroyData: input.destroyData ?? [],
    isSelected,
  };
  const plans = KINDS.toReversed().map((kind) => kind.planDestroy(context));
  const problems = plans.flatMap((plan) => plan.problems);
  if (problems.length > 0) return { ok: false, problems };
  const resources = plans.flatMap((plan) => plan.resources);
  const warnings = plans.flatMap((plan) => plan.warnings);
  return { ok: true, plan: planOf({ ...input }, resources, foundationsLast(plans), warnings), stack };
}

/** What a plan is made from. */
type PlanSources = Pick<PlanInput, 'stack' | 'state' | 'observed' | 'secrets' | 'now'>;

/** A plan for the request of a command, whatever else the file says. */
export interface AskedPlan {
  /** What has to be read beyond the VMs. */
  readonly reads: Pick<ObserveContext, 'snapshots'> & { readonly relocates?: boolean };
  /** Pure. */
  readonly plan: (sources: PlanSources) => PlanResult;
}

/** Moves VMs to other nodes. */
export function relocationPlan(options: RelocateOptions): AskedPlan {
  return {
    reads: { relocates: true },
    plan: (sources) =>
      planAsked(sources, options, (kind, context) => kind.planRelocation?.({ ...context, ...options })),
  };
}

/** Takes or deletes snapshots, or rolls back to them. A rollback depends on the contents of the snapshot. */
export function snapshotPlan(options: SnapshotOptions): AskedPlan {
  const { request, only = [] } = options;
  return {
    reads: { snapshots: { only, withConfigs: request.kind === 'rollback' } },
    plan: (sources) => planAsked(sources, options, (kind, context) => kind.planSnapshots?.({ ...context, ...options })),
  };
}

/** The request of a command, apart from the file, kind by kind. */
function planAsked(
  sources: PlanSources,
  { only = [] }: { readonly only?: readonly string[] },
  ask: (kind: AnyKind, context: PlanSources & { isSelected(address: Address): boolean }) => KindPlan | undefined,
): PlanResult {
  const isSelected = (address: Address) => only.length === 0 || only.some((selector) => covers(selector, address));
  const state = renamedState(sources.stack, sources.state);
  const context = { ...sources, stack: givenStack(sources.stack, state), state, isSelected };
  const plans = KINDS.flatMap((kind) => ask(kind, context) ?? []);
  const problems = plans.flatMap((plan) => plan.problems);
  if (problems.length > 0) return { ok: false, problems };
  const resources = plans.flatMap((plan) => plan.resources);
  const checked = plans.flatMap((plan) => plan.checked ?? []);
  const warnings = plans.flatMap((plan) => plan.warnings);
  const plan = planOf(sources, resources, linked(resources), warnings);
  return { ok: true, plan: { ...plan, ...(checked.length > 0 && { checked }), ...roomOf(plans) } };
}

/** Only the kind of VMs knows it: it counts what all machines need. */
function roomOf(plans: readonly KindPlan[]): Pick<Plan, 'room'> {
  const room = plans.flatMap((plan) => plan.room ?? []);
  return room.length > 0 ? { room } : {};
}

/** Dependents go first: linked clones before their template, and both before its image. */
function foundationsLast(plans: readonly KindPlan[]): Step[] {
  const steps: Step[] = [];
  for (const { resources } of plans) {
    const before = steps.map(({ id }) => id);
    steps.push(
      ...resources.flatMap(({ steps: [first, ...rest] }) =>
        first ? [{ ...first, needs: [...first.needs, ...before] }, ...rest] : [],
      ),
    );
  }
  return steps;
}

function planOf(
  input: Pick<PlanInput, 'stack' | 'state' | 'observed' | 'now'>,
  resources: readonly ResourcePlan[],
  steps: readonly Step[],
  warnings: readonly Diagnostic[],
): Plan {
  const rolls = rollsOf(steps);
  return {
    version: PLAN_VERSION,
    stack: input.stack.name,
    createdAt: new Date(input.now).toISOString(),
    changes: resources.flatMap(({ change }): Change[] => (change ? [change] : [])),
    steps,
    ...(rolls.length > 0 && { rolls }),
    warnings,
    fingerprints: fingerprintsOf(input),
  };
}

function optionsOf(options: PlanOptions): PlannedWith {
  const { only = [], allowDelete, allowRestart, replace = [], destroyData = [], hooks = {} } = options;
  return {
    ...(only.length > 0 && { only }),
    ...(allowDelete && { allowDelete }),
    ...(allowRestart && { allowRestart }),
    ...(replace.length > 0 && { replace }),
    ...(destroyData.length > 0 && { destroyData }),
    ...(Object.keys(hooks).length > 0 && { hooks }),
  };
}

export function fingerprintsOf({
  stack,
  state,
  observed,
}: Pick<PlanInput, 'stack' | 'state' | 'observed'>): Plan['fingerprints'] {
  return {
    stack: fingerprint(KINDS.map((kind) => kind.declared(stack))),
    state: fingerprint([state.vms, state.files, ...Object.entries(state.outages ?? {})]),
    ...(state.lineage !== undefined && { lineage: state.lineage }),
    serial: state.serial,
    vms: Object.assign({}, ...KINDS.map((kind) => kind.fingerprints?.(observed))),
  };
}
