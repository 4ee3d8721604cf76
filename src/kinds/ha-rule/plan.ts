/**
 * Compares the HA rules that a stack asks for with those of the cluster. Pure.
 *
 * VMs of other clients in a rule of ours stay in it. A VM whose `ha` left the file is no longer managed, and stays as
 * well. A rule never moves a VM: if some VMs are on the wrong node, the rule covers only the others, and a warning says
 * so.
 */
import { type Address, toAddress } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { HaRule } from '../../pve/index.ts';
import type { DestroyContext, KindPlan, PlanContext, ResourcePlan } from '../kind.ts';
import { NOTHING_PLANNED } from '../kind.ts';
import type { Observed } from '../observed.ts';
import type { Step } from '../step.ts';
import { NODE_NOT_CHOSEN } from '../vm/placement/candidates.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import type { MigrateInput } from '../vm/steps.ts';
import { hasGroups } from './book.ts';
import { type CheckedRule, conflictsOf } from './conflicts.ts';
import { type DesiredRule, desiredRules } from './desired.ts';
import { beyondGroups, nameTaken, notKept, notYet, refused, type Words, wordsFor } from './findings.ts';
import { fewestMembers, isOurRule, keepStep, leaveStep, type RuleStep, saysThe, sidOf } from './rule.ts';

export function planRules(context: PlanContext): KindPlan {
  const { stack, observed } = context;
  const desired = desiredRules(stack, [...observed.nodes.keys()]);
  if (!observed.haRules?.ok) return { ...NOTHING_PLANNED, warnings: notKept(desired, context) };
  const isGroup = hasGroups(observed.version);
  const all = desired.filter(({ sense }) => !isGroup || sense.type === 'node-affinity');
  const scene = new Scene(context, observed.haRules.value);
  const kept = all.map((rule) => ({ rule, ...scene.membersOf(rule) }));
  const filled = kept.filter(({ rule, members }) => members.length >= fewestMembers(rule.sense));
  const leaving = scene.ours.flatMap((rule) =>
    scene.leave(rule, filled.find((each) => each.rule.rule === rule.rule)?.members),
  );
  const keeping = filled.flatMap(({ rule, members }) => scene.keep({ ...rule, members }, leaving));
  const sent = new Set(keeping.map(({ input }) => input.rule));
  const found = scene.problems(filled.map(({ rule, members }) => ({ ...rule, members })));
  const postponed = kept.flatMap((each) =>
    each.postponed.length > 0 ? [notYet(each.rule, each.postponed, context)] : [],
  );
  // A rule that stays as it is does not stop the plan: it only has no effect.
  const idle = found
    .filter(({ rule }) => !sent.has(rule))
    .map(({ problem }) => ({ ...problem, severity: 'warning' as const }));
  return {
    resources: asResources([...leaving, ...keeping]),
    problems: found.filter(({ rule }) => sent.has(rule)).map(({ problem }) => problem),
    warnings: [...postponed, ...idle, ...(isGroup ? beyondGroups(desired, context) : [])],
  };
}

/**
 * VMs leave their rules when Proxmox destroys them. A rule without remaining members is removed first, so that it never
 * misleads.
 */
export function planDestroyedRules({ stack, state, observed, isSelected }: DestroyContext): KindPlan {
  if (!observed.haRules?.ok) return NOTHING_PLANNED;
  const addresses = addressesBySid(state.vms);
  const steps = observed.haRules.value.flatMap((rule) => {
    const { resources } = rule;
    if (!isOurRule(rule, { stack: stack.name, lineage: state.lineage }, (sid) => addresses.has(sid))) return [];
    const isLeaving = (sid: string) => {
      const address = addresses.get(sid);
      return address !== undefined && isSelected(address);
    };
    const isEffective = resources.filter((sid) => !isLeaving(sid)).length >= fewestMembers(senseOf(rule));
    const leaving = resources.filter(isLeaving).map(vmidOf);
    const group = groupMark(observed.version);
    // A group that is already empty: an earlier run died after it removed the last member.
    return isEffective || (leaving.length === 0 && resources.length > 0)
      ? []
      : [leaveStep({ rule: rule.rule, leaving, removes: true, ...group })];
  });
  return { ...NOTHING_PLANNED, resources: asResources(steps) };
}

const groupMark = (version: Observed['version']): { readonly isGroup?: true } =>
  hasGroups(version) ? { isGroup: true } : {};

const asResources = (steps: readonly RuleStep[]): ResourcePlan[] => steps.map((step) => ({ steps: [step] }));

const vmidOf = (sid: string) => Number(sid.slice('vm:'.length));

const senseOf = ({ type }: Pick<HaRule, 'type'>) =>
  ({ type: type === 'node-affinity' ? type : 'resource-affinity' }) as const;

function addressesBySid(vms: PlanContext['state']['vms']): ReadonlyMap<string, Address> {
  return new Map(
    Object.entries(vms).flatMap(([key, { vmid }]) => {
      const address = toAddress(key);
      return address === undefined ? [] : [[sidOf(vmid), address] as const];
    }),
  );
}

/** What the rules are compared with: the VMs as this plan will leave them. */
class Scene {
  readonly #context: PlanContext;
  readonly #rules: readonly HaRule[];
  readonly #bySid: ReadonlyMap<string, Address>;
  readonly #vms: ReadonlyMap<Address, ResolvedVm>;
  readonly #steps: ReadonlyMap<Address, readonly Step[]>;
  readonly #mark: { readonly isGroup?: true };
  readonly #words: Words;
  readonly ours: readonly HaRule[];

  constructor(context: PlanContext, rules: readonly HaRule[]) {
    const { stack, state, planned } = context;
    this.#context = context;
    this.#rules = rules;
    this.#mark = groupMark(context.observed.version);
    this.#words = wordsFor(context);
    this.#bySid = addressesBySid(state.vms);
    this.#vms = new Map(stack.vms.map((vm) => [vm.address, vm]));
    this.#steps = new Map(planned.flatMap(({ change, steps }) => (change ? [[change.address, steps] as const] : [])));
    const owner = { stack: stack.name, lineage: state.lineage };
    this.ours = rules.filter((rule) => isOurRule(rule, owner, (sid) => this.#bySid.has(sid)));
  }

  /** Those that are in the rule or can join it where they are; `postponed`: those that cannot. */
  membersOf({ rule, sense, members }: DesiredRule): { members: Address[]; postponed: Address[] } {
    const present = this.#membersIn(this.#ourRule(rule));
    const joining: Address[] = [];
    const postponed: Address[] = [];
    const taken = new Set<string>();
    const inRule = members.filter((address) => present.has(address));
    for (const address of inRule) taken.add(this.#nodeOf(address));
    for (const address of members) {
      if (present.has(address)) continue;
      if (!this.#context.isSelected(address) || !this.#steps.has(address)) continue;
      const node = this.#nodeOf(address);
      const agrees = sense.type === 'node-affinity' ? sense.nodes.includes(node) : !taken.has(node);
      (agrees ? joining : postponed).push(address);
      if (agrees) taken.add(node);
    }
    const chosen = new Set([...inRule, ...joining]);
    const staying = [...present].filter((address) => !members.includes(address) && this.#stays(address));
    return { members: [...members.filter((address) => chosen.has(address)), ...staying], postponed };
  }

  /** Removes VMs of ours from a rule that is not, or no longer, for them. */
  leave({ rule, resources, type }: HaRule, members: readonly Address[] = []): RuleStep[] {
    const leaving = resources.filter((sid) => {
      const address = this.#bySid.get(sid);
      return address !== undefined && !members.includes(address) && !(members.length === 0 && this.#stays(address));
    });
    const left = resources.filter((sid) => !leaving.includes(sid) && this.#isManaged(sid));
    const removes = left.length < fewestMembers(senseOf({ type }));
    const isLeftover = removes && resources.every((sid) => this.#bySid.has(sid) || !this.#isManaged(sid));
    if (leaving.length === 0 && !(isLeftover && members.length === 0)) return [];
    return [leaveStep({ rule, leaving: leaving.map(vmidOf), removes, ...this.#mark })];
  }

  keep(rule: DesiredRule, leaving: readonly RuleStep[]): RuleStep[] {
    const { sense, members } = rule;
    const observed = this.#ourRule(rule.rule);
    const present = this.#membersIn(observed);
    const isMissing = members.some((address) => !present.has(address) || this.#rejoins(address));
    const isSame = observed !== undefined && saysThe(sense, observed) && observed.disable !== true;
    if (observed && isSame && !isMissing) return [];
    const was = !observed ? 'absent' : isSame ? 'incomplete' : 'changed';
    const needs = [...leaving.map(({ id }) => id), ...members.flatMap((address) => this.#lastBefore(address))];
    return [keepStep({ rule: rule.rule, sense, members, was, ...this.#mark }, needs)];
  }

  /** Rules that Proxmox would refuse, and names that a rule of another client already has. */
  problems(rules: readonly DesiredRule[]): { readonly rule: string; readonly problem: Diagnostic }[] {
    const owned = new Set(this.ours.map(({ rule }) => rule));
    const strangers: readonly CheckedRule[] = this.#rules.filter(({ rule }) => !owned.has(rule));
    const own = rules.map((rule) => this.#checked(rule));
    return rules.flatMap((desired, index) => {
      const first = this.#vms.get(desired.members[0] as Address); // a rule has members
      const rule = own[index];
      if (!first || !rule) return [];
      if (strangers.some((other) => other.rule === desired.rule))
        return [{ rule: desired.rule, problem: nameTaken(desired, first, this.#words) }];
      const others = [...strangers, ...own.filter((other) => other !== rule)];
      const why = conflictsOf(rule, others, this.#context.observed.nodes.size, this.#words.confining);
      return why.length === 0 ? [] : [{ rule: desired.rule, problem: refused(desired, first, why, this.#words) }];
    });
  }

  #checked({ rule, sense, members }: DesiredRule): CheckedRule {
    const strangers = (this.#ourRule(rule)?.resources ?? []).filter(
      (sid) => !this.#bySid.has(sid) && this.#isManaged(sid),
    );
    const names = members.map((address) => {
      const vmid = this.#context.state.vms[address]?.vmid;
      return vmid === undefined ? address : sidOf(vmid);
    });
    return {
      rule,
      resources: [...names, ...strangers],
      ...(sense.type === 'node-affinity' ? sense : { ...sense, affinity: 'negative' }),
    };
  }

  #ourRule(name: string): HaRule | undefined {
    return this.ours.find(({ rule }) => rule === name);
  }

  #membersIn(rule: HaRule | undefined): ReadonlySet<Address> {
    return new Set((rule?.resources ?? []).flatMap((sid) => this.#bySid.get(sid) ?? []));
  }

  /** The file says nothing about its place in rules: it is not selected, not in the file and kept, or `ha` left the file. */
  #stays(address: Address): boolean {
    if (!this.#context.isSelected(address)) return true;
    const vm = this.#vms.get(address);
    const isGone = this.#stepOf(address, 'vm.destroy') !== undefined || !this.#steps.has(address);
    return vm ? vm.fields.ha === undefined : !isGone;
  }

  /** Proxmox takes a VM out of its rules together with its HA resource. */
  #rejoins(address: Address): boolean {
    const vmid = this.#context.state.vms[address]?.vmid;
    if (this.#stepOf(address, 'vm.destroy') || this.#stepOf(address, 'vm.reserve') || vmid === undefined) return true;
    return this.#stepOf(address, 'vm.ha') !== undefined && !this.#isManaged(sidOf(vmid));
  }

  #isManaged(sid: string): boolean {
    const { ha } = this.#context.observed;
    return !ha?.ok || !sid.startsWith('vm:') || ha.value.has(vmidOf(sid));
  }

  #nodeOf(address: Address): string {
    const found = this.#context.observed.vms.get(address);
    const { target } = (this.#stepOf(address, 'vm.migrate')?.input as MigrateInput | undefined) ?? {}; // of this action
    const planned = this.#vms.get(address)?.fields.node ?? NODE_NOT_CHOSEN;
    return target ?? (found?.kind === 'present' && !this.#stepOf(address, 'vm.destroy') ? found.vm.node : planned);
  }

  /** A VM can be in a rule once it is an HA resource. */
  #lastBefore(address: Address): string[] {
    const step = this.#stepOf(address, 'vm.ha') ?? this.#steps.get(address)?.at(-1);
    return step ? [step.id] : [];
  }

  #stepOf(address: Address, action: string): Step | undefined {
    return this.#steps.get(address)?.find((step) => step.action === action);
  }
}
