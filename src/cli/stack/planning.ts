/**
 * Plans for commands. Commands that only read plan without the lock: they take into account what an unfinished run left
 * behind, but do not settle it. The check of addresses before a plan serves commands with a lock as well.
 */
import { type Address, covers } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { closest } from '../../base/text/closest.ts';
import { observe } from '../../engine/observe.ts';
import { type PlanResult, planStack } from '../../engine/plan.ts';
import { checkPrivileges } from '../../engine/privileges/check.ts';
import { explainUnseen } from '../../engine/privileges/unseen.ts';
import type { PlanOptions } from '../../engine/session.ts';
import { type Change, isEmpty, type Plan } from '../../kinds/change.ts';
import type { Observed } from '../../kinds/observed.ts';
import { recordedMachines, type StackState } from '../../kinds/recorded.ts';
import { unfinishedResources } from '../../kinds/registry.ts';
import { machinesOf } from '../../kinds/stack.ts';
import type { Pve } from '../../pve/index.ts';
import type { ResolvedStack } from '../../spec/index.ts';
import { readRecorded } from '../../state/recorded.ts';
import { AlreadyShown, type CommandDeps, type StackOptions } from '../command.ts';
import { toType } from '../terminal.ts';
import { showProblems } from '../views/view.ts';
import { connect } from './connect.ts';
import { withLocalNeeds } from './local-needs.ts';
import { type OpenedStack, openStack } from './open.ts';
import { resolveSecrets, type SecretsByVm } from './secrets.ts';

/** A plan, and the state and observations it was made from. */
export interface PlannedStack {
  readonly plan: Plan;
  readonly state: StackState;
  readonly observed: Observed;
  readonly secrets: SecretsByVm;
}

/** Opens a stack and plans it, for a command that changes nothing. */
export async function openAndPlan(
  options: StackOptions,
  deps: CommandDeps,
  planOptions: PlanOptions,
): Promise<PlannedStack & { readonly stack: ResolvedStack; readonly pve: Pve }> {
  const opened = await openStack(options, deps);
  const pve = await connect(opened, deps);
  return { ...(await planWithoutLock(opened, deps, pve, planOptions)), stack: opened.stack, pve };
}

/** Prints what prevents a plan, and ends the command; prints the warnings of one that can be made. */
export async function planWithoutLock(
  opened: OpenedStack,
  deps: CommandDeps,
  pve: Pve,
  options: PlanOptions,
): Promise<PlannedStack> {
  const { stack } = opened;
  const { result, unsettled, state, observed, secrets } = await tryPlan(opened, deps, pve, options);
  const made = requirePlan(result, deps);
  const rights = options.checkPrivileges && !isEmpty(made) ? await privilegeWarnings(pve, made, stack, observed) : [];
  const plan = { ...made, warnings: [...made.warnings, ...rights] };
  const changes = [...plan.changes, ...unsettled];
  showProblems(plan.warnings, deps);
  return { plan: { ...plan, changes }, state, observed, secrets };
}

export interface PlanAttempt extends Omit<PlannedStack, 'plan'> {
  /** Its problems say where the token lacks the privilege to look. */
  readonly result: PlanResult;
  /** What an unfinished run was creating, each resource with the change that completes it. */
  readonly unsettled: readonly Change[];
}

/** Plans without a lock, and leaves the judgement to the caller. */
export async function tryPlan(
  opened: OpenedStack,
  deps: CommandDeps,
  pve: Pve,
  options: PlanOptions,
): Promise<PlanAttempt> {
  const { stack, store } = opened;
  const { state, unfinished: openRuns } = await readRecorded(store, stack.name);
  checkPlanning(options, stack, state);
  const secrets = await resolveSecrets(opened, deps);
  const observed = await observe({ pve, stack, state, secrets, replace: options.replace });
  const { changes: unsettled, ...rest } = unfinishedResources(stack, state, observed);
  const input = { ...rest, observed, secrets };
  const planned = planStack({ ...input, now: deps.clock.now(), ...options });
  const result = planned.ok
    ? await withLocalNeeds(planned, opened, deps)
    : { ...planned, problems: await explainUnseen({ pve, stack, problems: planned.problems }) };
  if (openRuns.length > 0) {
    deps.terminal.log(
      'warn',
      `An earlier run is unfinished or still running. To resume it: ${toType(deps.terminal, 'apply')}`,
    );
  }
  return { result, unsettled, state, observed, secrets };
}

/** For a plan that is only shown, a missing privilege is a warning; apply refuses it. */
export async function privilegeWarnings(
  pve: Pve,
  plan: Plan,
  stack: ResolvedStack,
  observed: Observed,
): Promise<readonly Diagnostic[]> {
  const { missing, notChecked } = await checkPrivileges({ pve, plan, stack, version: observed.version, observed });
  return [...missing.map((each) => ({ ...each, severity: 'warning' as const })), ...notChecked];
}

/** Returns the plan, or prints every problem and ends the command. */
export function requirePlan(result: PlanResult, deps: CommandDeps): Plan {
  if (result.ok) return result.plan;
  showProblems(result.problems, deps);
  throw new AlreadyShown();
}

/** Whether there is anything to do. */
export function hasChanges(plan: Plan): boolean {
  return !isEmpty(plan) || plan.changes.some(({ kind }) => kind === 'complete');
}

/** Every address on the command line must match something: a typo would silently do nothing. */
export function checkPlanning(
  { only = [], replace = [], destroyData = [], hooks = {} }: PlanOptions,
  stack: ResolvedStack,
  state: StackState,
): void {
  const named = [...machinesOf(stack), ...stack.images].map(({ address }) => address);
  const addresses = [...named, ...recordedMachines(state).map(([address]) => address)];
  checkSelectors('--only', only, addresses);
  checkSelectors('--replace', replace, addresses);
  checkSelectors('--hook-again', hooks.again ?? [], addresses);
  checkSelectors('--hook-done', hooks.done ?? [], addresses);
  checkNames(destroyData, [
    ...stack.vms.map(({ fields }) => fields.name),
    ...Object.values(state.vms).map(({ name, holds }) => holds?.name ?? name),
  ]);
}

function checkNames(names: readonly string[], known: readonly string[]): void {
  for (const name of names.filter((each) => !known.includes(each))) {
    const guess = closest(name, known);
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: { file: `--destroy-data ${name}` },
      detail: `No VM of this stack has the name "${name}".`,
      hint: guess ? `Did you mean "${guess}"?` : 'Give the name of the VM, not its address.',
    });
  }
}

function checkSelectors(option: string, selectors: readonly string[], known: readonly Address[]): void {
  for (const selector of selectors) {
    // An image may be named without its nodes.
    if (known.some((address) => covers(selector, address) || covers(address, selector as Address))) continue;
    const groups = known.map((address) => address.replace(/\[.*$/, ''));
    const names = [...new Set([...groups, ...known])];
    const guess = names.find((name) => name.split('.')[1] === selector) ?? closest(selector, names);
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: { file: `${option} ${selector}` },
      detail: `Nothing in this stack has the address "${selector}".`,
      hint: guess
        ? `Did you mean "${guess}"?`
        : 'An address looks like vm.web, vm.worker[2], template.debian-12 or image.debian.',
    });
  }
}
