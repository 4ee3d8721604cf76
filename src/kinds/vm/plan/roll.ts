/**
 * Which VMs a plan makes unavailable, and in which order. Members of a group take turns: the next one goes down when the one
 * before is ready again, and none goes down while a member that this plan creates or starts is not up yet. Pure.
 */
import type { Address } from '../../../base/address.ts';
import type { ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { Outage, Step } from '../../step.ts';

/** Steps that end with the VM off, at least for a while. A running VM migrates online. */
const TAKES_DOWN: ReadonlySet<string> = new Set(['vm.restart', 'vm.stop', 'vm.destroy']);

/** At most so many members of a group are unavailable at once. */
const AT_MOST = 1;

interface Member {
  readonly vm: ResolvedVm;
  readonly plan: ResourcePlan;
}

/** The same plans, with each step that takes a running VM down marked with its group. */
export function inRolls(
  plans: readonly ResourcePlan[],
  vms: readonly ResolvedVm[],
  observed: Observed,
): readonly ResourcePlan[] {
  const byAddress = new Map(vms.map((vm) => [vm.address, vm]));
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
    return { ...plan, steps: afterAll(marked(plan.steps, vm), before) };
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

function marked(steps: readonly Step[], { group }: ResolvedVm): Step[] {
  const outage: Outage = { group: `vm.${group}`, atMost: AT_MOST };
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
