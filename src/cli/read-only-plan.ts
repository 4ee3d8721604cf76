/** A plan made without the lock: for looking only. What an unfinished run left is taken into account, not settled. */
import type { Diagnostic } from '../base/diagnostics.ts';
import { machinesOf } from '../engine/machines.ts';
import { observe } from '../engine/observe.ts';
import type { Observed } from '../engine/observed.ts';
import { type PlanResult, planStack } from '../engine/plan.ts';
import { type Change, isEmpty, type Plan, UNDETAILED } from '../engine/plan-types.ts';
import { checkPrivileges } from '../engine/privileges/check.ts';
import { explainUnseen } from '../engine/privileges/unseen.ts';
import type { PlanOptions } from '../engine/session.ts';
import type { Pve } from '../pve/index.ts';
import type { ResolvedStack, ResolvedVm } from '../spec/index.ts';
import { recallState } from '../state/recall.ts';
import type { StackState } from '../state/stack-state.ts';
import { AlreadyShown, type CommandHost } from './command-host.ts';
import { connect } from './connect.ts';
import { withLocalImages } from './local-images.ts';
import type { StackHost } from './opened-stack.ts';
import { resolveSecrets, type SecretsByVm } from './secrets.ts';
import { checkSelectors } from './selectors.ts';
import { openStack } from './stack-host.ts';
import type { StackOptions } from './stack-options.ts';

export interface Sight {
  readonly plan: Plan;
  readonly state: StackState;
  readonly observed: Observed;
  readonly secrets: SecretsByVm;
}

/** The stack of a command that only looks, and what it sees. */
export async function openAndLook(
  options: StackOptions,
  host: CommandHost,
  planOptions: PlanOptions,
): Promise<Sight & { readonly stack: ResolvedStack; readonly pve: Pve }> {
  const stackHost = await openStack(options, host);
  const pve = await connect(stackHost, host);
  return { ...(await lookAndPlan(stackHost, host, pve, planOptions)), stack: stackHost.stack, pve };
}

/** What speaks against a plan is printed; then the command ends. */
export async function lookAndPlan(
  stackHost: StackHost,
  host: CommandHost,
  pve: Pve,
  options: PlanOptions,
): Promise<Sight> {
  const { stack } = stackHost;
  const { result, unknown, state, observed, secrets } = await look(stackHost, host, pve, options);
  const made = requirePlan(result, host);
  const rights = options.checkPrivileges && !isEmpty(made) ? await privilegeWarnings(pve, made, stack, observed) : [];
  const plan = { ...made, warnings: [...made.warnings, ...rights] };
  const changes = [...plan.changes, ...unknown.map((vm) => unfinished(vm, state))];
  for (const warning of plan.warnings) host.terminal.diagnostic(warning);
  return { plan: { ...plan, changes }, state, observed, secrets };
}

export interface Look extends Omit<Sight, 'plan'> {
  /** Problems with what the token may not see taken into account. */
  readonly result: PlanResult;
  /** VMs that an unfinished run was making. */
  readonly unknown: readonly ResolvedVm[];
}

/** What there is and what would be done, without a judgement. */
export async function look(stackHost: StackHost, host: CommandHost, pve: Pve, options: PlanOptions): Promise<Look> {
  const { stack, store } = stackHost;
  const { state, unfinished: openRuns } = await recallState(store, stack.name);
  checkPlanning(options, stack, state);
  const secrets = await resolveSecrets(stackHost, host);
  const observed = await observe({ pve, stack, state, secrets, replace: options.replace });
  // Whether such a VM exists is found out by apply, before it plans.
  const unknown = machinesOf(stack).filter(({ address }) => state.vms[address]?.phase === 'creating');
  const vms = stack.vms.filter((vm) => !unknown.includes(vm));
  const templates = stack.templates.filter(({ vm }) => !unknown.includes(vm));
  const input = { stack: { ...stack, vms, templates }, state: without(state, unknown), observed, secrets };
  const planned = planStack({ ...input, now: host.clock.now(), ...options });
  const result = planned.ok
    ? await withLocalImages(planned, stackHost)
    : { ...planned, problems: await explainUnseen({ pve, stack, problems: planned.problems }) };
  if (openRuns.length > 0) {
    host.terminal.log('warn', 'An earlier run has not ended, or is still under way: proxwright apply takes it up.');
  }
  return { result, unknown, state, observed, secrets };
}

/** To a plan that is only looked at a missing privilege is a warning; apply refuses. */
async function privilegeWarnings(
  pve: Pve,
  plan: Plan,
  stack: ResolvedStack,
  observed: Observed,
): Promise<readonly Diagnostic[]> {
  const { missing, notChecked } = await checkPrivileges({ pve, plan, stack, version: observed.version, observed });
  return [...missing.map((each) => ({ ...each, severity: 'warning' as const })), ...notChecked];
}

export function checkPlanning({ only = [], replace = [] }: PlanOptions, stack: ResolvedStack, state: StackState): void {
  const named = [...machinesOf(stack), ...stack.images].map(({ address }) => address);
  const addresses = [...named, ...Object.keys(state.vms)];
  checkSelectors('--only', only, addresses);
  checkSelectors('--replace', replace, addresses);
}

/** The plan, or everything that speaks against it and the end. */
export function requirePlan(result: PlanResult, host: CommandHost): Plan {
  if (result.ok) return result.plan;
  for (const problem of result.problems) host.terminal.diagnostic(problem);
  throw new AlreadyShown();
}

/** Whether anything is to be done. */
export function hasChanges(plan: Plan): boolean {
  return !isEmpty(plan) || plan.changes.some(({ kind }) => kind === 'complete');
}

function without(state: StackState, vms: readonly ResolvedVm[]): StackState {
  const left = new Set<string>(vms.map(({ address }) => address));
  return { ...state, vms: Object.fromEntries(Object.entries(state.vms).filter(([address]) => !left.has(address))) };
}

function unfinished({ address, fields }: ResolvedVm, state: StackState): Change {
  return {
    address,
    kind: 'complete',
    name: fields.name,
    node: fields.node,
    vmid: state.vms[address]?.vmid || fields.vmid,
    reason: 'An earlier run was making it; apply finds out how far it came and does the rest.',
    ...UNDETAILED,
  };
}
