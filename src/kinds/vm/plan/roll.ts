/**
 * Which VMs a plan makes unavailable, and in which order. Members of a group take turns: the next one goes down when one of
 * those before is ready again, and none goes down while a member that this plan creates or starts is not up yet. Pure.
 */
import { type Address, covers } from '../../../base/address.ts';
import type { ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedStack, ResolvedVm, Rollout } from '../../stack.ts';
import type { Outage, Step } from '../../step.ts';
import type { UpdateFields } from '../fields/update.ts';

/** Steps that end with the VM off, at least for a while. A running VM migrates online. */
const TAKES_DOWN: ReadonlySet<string> = new Set(['vm.restart', 'vm.stop', 'vm.rollback', 'vm.destroy']);

/** With every default filled in. */
type Update = { readonly [Name in keyof UpdateFields]-?: NonNullable<UpdateFields[Name]> };

/** How the group of a VM changes. */
export function updateOf({ fields }: ResolvedVm, rollout: Rollout): Update {
  const written = { ...rollout.update, ...fields.update };
  return {
    max_unavailable: written.max_unavailable ?? 1,
    pause: written.pause ?? 0,
    on_failure: written.on_failure ?? 'stop',
    replace: written.replace ?? 'never',
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
}

interface RollContext {
  readonly stack: Pick<ResolvedStack, 'vms' | 'rollout'>;
  readonly observed: Observed;
  /** Selectors of VMs that the user asked to replace. */
  readonly replace?: readonly string[] | undefined;
}

/** The same plans, with each step that takes a running VM down marked with its group. */
export function inRolls(plans: readonly ResourcePlan[], context: RollContext): readonly ResourcePlan[] {
  const { stack, observed } = context;
  const byAddress = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const members = new Map<ResourcePlan, Member>();
  for (const plan of plans) {
    const vm = plan.change && byAddress.get(plan.change.address);
    if (vm) members.set(plan, { vm, plan });
  }
  const comingUp = new Map<string, Member[]>();
  for (const member of members.values()) {
    const { group } = member.vm;
    if (comesUp(member) && !goesDown(member, observed)) comingUp.set(group, [...(comingUp.get(group) ?? []), member]);
  }
  return plans.map((plan) => {
    const member = members.get(plan);
    if (!member || !goesDown(member, observed)) return plan;
    const { vm } = member;
    const others = comingUp.get(vm.group) ?? [];
    const before = others.filter((other) => !dependsOn(other.vm, vm.address, byAddress));
    return { ...plan, steps: afterAll(marked(plan.steps, outageOf(vm, context)), before) };
  });
}

function goesDown({ vm, plan }: Member, { vms }: Observed): boolean {
  const found = vms.get(vm.address);
  return found?.kind === 'present' && found.vm.running && plan.steps.some(({ action }) => TAKES_DOWN.has(action));
}

/** Created, started, or started by an earlier run that ended before the guest was ready. */
function comesUp({ plan }: Member): boolean {
  return plan.steps.some(({ action }) => action === 'vm.ready');
}

function outageOf(vm: ResolvedVm, { stack, replace = [] }: RollContext): Outage {
  const { group } = vm;
  const update = updateOf(vm, stack.rollout);
  const size = stack.vms.filter((other) => other.group === group).length;
  return {
    group: `vm.${group}`,
    atMost: mostUnavailable(update.max_unavailable, size),
    size,
    pauseMs: update.pause,
    onFailure: update.on_failure,
    again: replace.some((selector) => covers(selector, vm.address)) ? ['--replace', vm.address] : [],
  };
}

function marked(steps: readonly Step[], outage: Outage): Step[] {
  const first = steps.findIndex(({ action }) => TAKES_DOWN.has(action));
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
