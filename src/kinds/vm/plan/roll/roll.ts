/**
 * Which VMs a plan makes unavailable, and in which order. Members of a group take turns: the next one goes down when an
 * earlier one is ready again, and none goes down while a member that this plan creates or starts is not up yet. Pure.
 */
import { type Address, covers, parseAddress, replacedAddress } from '../../../../base/address.ts';
import type { HookChoice } from '../../../change.ts';
import type { ResourcePlan } from '../../../kind.ts';
import type { Observed } from '../../../observed.ts';
import type { HookChange, OutageRecord } from '../../../outage.ts';
import type { StackState } from '../../../recorded.ts';
import type { ResolvedStack, Rollout } from '../../../stack.ts';
import type { Outage, Step } from '../../../step.ts';
import type { UpdateFields } from '../../fields/lifecycle.ts';
import type { VmRecord } from '../../record.ts';
import type { ResolvedVm } from '../../stack.ts';
import { readyStep } from '../desired-vm.ts';
import { keptMacs } from '../replace/kept-macs.ts';
import { hookStep, plannedHooks } from './hooks.ts';

/** Steps that end with the VM off, at least for a while. A running VM migrates online. */
const TAKES_DOWN: ReadonlySet<string> = new Set(['vm.restart', 'vm.stop', 'vm.rollback', 'vm.destroy']);

/** With all defaults filled in. */
type Update = { readonly [Name in keyof UpdateFields]-?: NonNullable<UpdateFields[Name]> };

/** How the group of a VM changes. */
export function updateOf({ fields }: ResolvedVm, rollout: Rollout): Update {
  const written = { ...rollout.update, ...fields.update };
  return {
    max_unavailable: written.max_unavailable ?? 1,
    pause: written.pause ?? 0,
    on_failure: written.on_failure ?? 'stop',
    replace: written.replace ?? 'never',
    order: written.order ?? 'destroy_first',
  };
}

/** A percentage is rounded down, but a group that must change cannot do so without one unavailable member. */
function mostUnavailable(limit: number | string, size: number): number {
  if (typeof limit === 'number') return limit;
  return Math.max(1, Math.floor((size * Number.parseInt(limit, 10)) / 100));
}

interface Member {
  readonly vm: ResolvedVm;
  readonly plan: ResourcePlan;
  /** An outage that an earlier run began and did not end. */
  readonly open: OutageRecord | undefined;
}

interface RollContext {
  readonly stack: Pick<ResolvedStack, 'vms' | 'rollout'>;
  readonly state: StackState;
  readonly observed: Observed;
  /** Selectors of VMs that the user asked to replace. */
  readonly replace?: readonly string[] | undefined;
  /** The user allows restarts, whatever the file says. */
  readonly allowRestart?: boolean | undefined;
  readonly hooks?: HookChoice | undefined;
  /** Another command than `apply` makes the plan. */
  readonly isAsked?: true;
}

/** The same plans, with each step that takes a running VM down marked with its group, and with the hooks of the VM. */
export function inRolls(plans: readonly ResourcePlan[], context: RollContext): readonly ResourcePlan[] {
  const { stack, state, observed } = context;
  const byAddress = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const members = new Map<ResourcePlan, Member>();
  for (const given of plans) {
    const vm = given.change && byAddress.get(given.change.address);
    if (!vm) continue;
    const open = openOutage(vm, state);
    members.set(given, { vm, open, plan: open ? broughtBack(vm, given, context) : given });
  }
  const comingUp = new Map<string, Member[]>();
  for (const member of members.values()) {
    const { group } = member.vm;
    const isUp = goesDown(member, observed) && !member.open;
    if (comesUp(member) && !isUp) comingUp.set(group, [...(comingUp.get(group) ?? []), member]);
  }
  return plans.map((given) => {
    const member = members.get(given);
    if (!member) return given;
    const { vm, open } = member;
    const isTakenDown = goesDown(member, observed);
    const hooked = withHooks(member, isTakenDown, context);
    if (!isTakenDown && !(open && comesUp(member))) return ended(hooked, member, context);
    if (!isTakenDown) {
      const [first, ...rest] = hooked.steps;
      const outage = { ...outageOf(member, context), isOpen: true as const };
      return ended({ ...hooked, steps: first ? [{ ...first, outage }, ...rest] : [] }, member, context);
    }
    // Members that an earlier run took down go first and do not wait for each other.
    const others = (comingUp.get(vm.group) ?? []).filter((other) => !open || !goesDown(other, observed));
    const before = others.filter((other) => !dependsOn(other.vm, vm.address, byAddress));
    const steps = marked(hooked.steps, outageOf(member, context));
    return ended({ ...hooked, steps: afterAll(steps, before) }, member, context);
  });
}

/** Only for a VM that should run: a VM that is stopped on purpose is no outage. */
function openOutage({ address, fields }: ResolvedVm, { outages = {} }: StackState): OutageRecord | undefined {
  return fields.power === 'running' ? outages[address] : undefined;
}

/** Also if nothing else is left to do: an earlier run ended before the VM was ready again. */
function broughtBack(vm: ResolvedVm, plan: ResourcePlan, { stack }: RollContext): ResourcePlan {
  if (plan.steps.some(({ action }) => action === 'vm.ready') || !plan.change) return plan;
  const last = plan.steps.at(-1);
  const wait = readyStep(vm, stack.rollout.timeouts.readyMs);
  const ready = { ...wait, needs: last ? [last.id] : [] };
  const { change } = plan;
  const isIdle = change.kind === 'none';
  return {
    ...plan,
    change: isIdle
      ? { ...change, kind: 'update', reason: 'An earlier run made it unavailable and did not finish.' }
      : change,
    // The old VM is destroyed only when the new one is ready.
    steps:
      last && isEndOfOld(last)
        ? chained([...plan.steps.slice(0, -1), wait, last], [wait, last])
        : [...plan.steps, ready],
  };
}

/** The last step of a create-first replacement. */
const isEndOfOld = ({ action }: Step) => action === 'vm.remove-replaced';

/** Before it goes down, and after it is ready again. A VM that is created has not been ready before. */
function withHooks(member: Member, isTakenDown: boolean, { hooks, state, observed }: RollContext): ResourcePlan {
  const { vm, plan, open } = member;
  const { address, fields } = vm;
  const wasStopped = state.vms[address]?.lastApplied.power === 'stopped';
  const change = changeOf(member, state);
  const hooked = {
    address,
    group: `vm.${vm.group}`,
    name: fields.name,
    hooks: fields.hooks,
    nics: fields.nics,
    change,
    open,
  };
  const isBeside = plan.steps.some(isEndOfOld);
  const isStopped = isBeside ? isOldRunning(vm.address, observed) : isTakenDown;
  const before = isStopped ? hookStep({ ...hooked, ofReplaced: isBeside }, 'before_stop', hooks) : undefined;
  const isBack = comesUp(member) && (isTakenDown || open !== undefined || wasStopped || change === 'replace');
  const after = isBack ? hookStep(hooked, 'after_ready', hooks) : undefined;
  return withHookSteps(plan, before, after);
}

/** The old VM, which is set aside already or will be. */
function isOldRunning(address: Address, { vms }: Observed): boolean {
  const found = vms.get(replacedAddress(address)) ?? vms.get(address);
  return found?.kind === 'present' && found.vm.running;
}

/** Runs the hooks before a member that left the file is destroyed, as before a restart. */
export function withRemovalHooks(plan: ResourcePlan, context: RollContext): ResourcePlan {
  const { stack, state, observed, hooks } = context;
  const { change } = plan;
  const group = change && parseAddress(change.address)?.group;
  const sibling = stack.vms.find((vm) => vm.group === group);
  const found = change && observed.vms.get(change.address);
  const isRunning = found?.kind === 'present' && found.vm.running;
  if (!change || !sibling || !isRunning || plan.steps.length === 0) return plan;
  const { address, name } = change;
  const open = state.outages?.[address];
  const { hooks: declared, nics } = sibling.fields;
  const hooked = { address, group: `vm.${group}`, name, hooks: declared, nics, change: 'destroy' as const, open };
  const before = hookStep(hooked, 'before_stop', hooks);
  if (!before) return plan;
  const hookedPlan = withHookSteps(plan, before, undefined);
  return { ...hookedPlan, steps: marked(hookedPlan.steps, { ...outageOf({ vm: sibling, plan }, context), again: [] }) };
}

function withHookSteps(plan: ResourcePlan, before: Step | undefined, after: Step | undefined): ResourcePlan {
  if (!before && !after) return plan;
  const isBeside = plan.steps.some(isEndOfOld);
  const at = plan.steps.findIndex((step) => (isBeside ? isEndOfOld(step) : TAKES_DOWN.has(step.action)));
  if (isBeside)
    return hooked(plan, [...plan.steps.slice(0, at), after, before, ...plan.steps.slice(at)], [after, before]);
  const [ahead, rest] = before ? [plan.steps.slice(0, at), plan.steps.slice(at)] : [plan.steps, []];
  return hooked(plan, [...ahead, before, ...rest, after], [before, rest[0], after]);
}

/** Inserts these steps: each waits for the step ahead of it, and so does the step that follows. */
function hooked(
  plan: ResourcePlan,
  given: readonly (Step | undefined)[],
  waiting: readonly (Step | undefined)[],
): ResourcePlan {
  const all = given.filter((step) => step !== undefined);
  const steps = chained(all, [...waiting, ...all.filter(isEndOfOld)]);
  const hooks = plannedHooks(steps, plan.change?.name ?? '');
  return { ...plan, steps, ...(plan.change && { change: { ...plan.change, hooks } }) };
}

/** Each of these waits for the step ahead of it. */
function chained(steps: readonly Step[], waiting: readonly (Step | undefined)[]): Step[] {
  return steps.map((step, index) => {
    const ahead = steps[index - 1];
    const isLinked = !waiting.includes(step) || !ahead || step.needs.includes(ahead.id);
    return isLinked ? step : { ...step, needs: [...step.needs, ahead.id] };
  });
}

/** Recorded from the first step that takes the VM down, or removes its record, until the last one, even across runs. */
function ended(plan: ResourcePlan, member: Member, { state, observed }: RollContext): ResourcePlan {
  const { vm, open } = member;
  const { steps, change } = plan;
  const isBeside = steps.some(isEndOfOld);
  const recorded = change?.kind === 'replace' && !isBeside ? state.vms[vm.address] : undefined;
  const first = steps.findIndex(({ outage, action }) => outage || (recorded && action === 'vm.destroy'));
  if (first < 0 && !open && !steps.some(({ action }) => action === 'vm.hook')) return plan;
  const keeps = recorded && {
    keeps: {
      vmid: recorded.vmid,
      macs: keptMacs(recorded, observed.vms.get(vm.address), state.outages?.[vm.address]),
      ...(recorded.given && { given: recorded.given }),
    },
  };
  const old = isReplaced(open, state.vms[vm.address]) ? undefined : state.vms[vm.address]?.uuid;
  const begins = {
    group: `vm.${vm.group}`,
    change: changeOf(member, state),
    ...(change?.kind === 'replace' && old !== undefined && { replacedUuid: old }),
    ...keeps,
  };
  return {
    ...plan,
    steps: steps.map((step, index) => ({
      ...step,
      ...(index === first && { begins }),
      ...(index === steps.length - 1 && { endsOutage: true as const }),
    })),
  };
}

/** A run that completes what an earlier one began says what that one did: the hook of a new VM may do more than others. */
function changeOf({ vm, plan, open }: Pick<Member, 'vm' | 'plan' | 'open'>, { vms }: StackState): HookChange {
  const own = changeOfSteps(plan);
  if (!open?.change) return own;
  if (open.change === 'replace') return isReplaced(open, vms[vm.address]) ? 'replace' : own;
  return own === 'start' && ['restart', 'move', 'rollback'].includes(open.change) ? open.change : own;
}

/** Not only begun: the old VM is gone, or set aside. */
function isReplaced(open: OutageRecord | undefined, recorded: VmRecord | undefined): boolean {
  return open?.change === 'replace' && open.replacedUuid !== recorded?.uuid;
}

function changeOfSteps({ change, steps }: ResourcePlan): HookChange {
  const does = (name: string) => steps.some(({ action }) => action === name);
  if (change?.kind === 'replace') return 'replace';
  if (does('vm.rollback')) return 'rollback';
  if (does('vm.restart')) return 'restart';
  if (does('vm.stop')) return does('vm.start') ? 'move' : 'stop';
  return 'start';
}

function goesDown({ vm, plan }: Member, { vms }: Observed): boolean {
  // A create-first replacement takes its turn like the others, although nothing is unavailable meanwhile.
  if (plan.steps.some(isEndOfOld)) return true;
  const found = vms.get(vm.address);
  return found?.kind === 'present' && found.vm.running && plan.steps.some(({ action }) => TAKES_DOWN.has(action));
}

/** Created, started, or started by an earlier run that ended before the guest was ready. */
function comesUp({ plan }: Member): boolean {
  return plan.steps.some(({ action }) => action === 'vm.ready');
}

function outageOf(member: Pick<Member, 'vm' | 'plan'>, context: RollContext): Outage {
  const { stack, isAsked } = context;
  const { vm } = member;
  const { group } = vm;
  const update = updateOf(vm, stack.rollout);
  const size = stack.vms.filter((other) => other.group === group).length;
  return {
    group: `vm.${group}`,
    atMost: mostUnavailable(update.max_unavailable, size),
    size,
    pauseMs: update.pause,
    onFailure: update.on_failure,
    again: askedAgain(member, context),
    ...(isAsked && { isAsked }),
  };
}

/** What the file does not ask for: a plain apply would leave the member as it is. */
function askedAgain({ vm, plan }: Pick<Member, 'vm' | 'plan'>, { replace = [], allowRestart }: RollContext): string[] {
  if (replace.some((selector) => covers(selector, vm.address))) return ['--replace', vm.address];
  const isRestarted = ['restart', 'move'].includes(changeOfSteps(plan));
  return isRestarted && allowRestart && vm.fields.restart !== 'when_needed' ? ['--allow-restart'] : [];
}

function marked(steps: readonly Step[], outage: Outage): Step[] {
  // The hook before a stop may already take the VM out of service.
  const isBeside = steps.some(isEndOfOld);
  const first = isBeside ? 0 : steps.findIndex(({ action }) => TAKES_DOWN.has(action) || action === 'vm.hook');
  if (isBeside)
    return steps.map((step, index) =>
      index === first ? { ...step, outage: { ...outage, order: 'create_first' } } : step,
    );
  return steps.map((step, index) => (index === first ? { ...step, outage } : step));
}

function afterAll([first, ...rest]: readonly Step[], before: readonly Member[]): Step[] {
  if (!first) return [];
  const ends = before.flatMap(({ plan }) => plan.steps.at(-1)?.id ?? []);
  return [{ ...first, needs: [...first.needs, ...ends] }, ...rest];
}

/** A VM that waits for another one cannot come up before it. */
function dependsOn(
  { after }: ResolvedVm,
  address: Address,
  byAddress: ReadonlyMap<Address, ResolvedVm>,
  seen: ReadonlySet<Address> = new Set(),
): boolean {
  return after.some((each) => {
    const vm = byAddress.get(each);
    return each === address || (vm && !seen.has(each) && dependsOn(vm, address, byAddress, new Set([...seen, each])));
  });
}
