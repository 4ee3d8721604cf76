/**
 * The HA rules that follow from `ha` and `placement` of a stack, so that a failover respects the placement: VMs stay on
 * their `nodes`, members of a group with `max_per_node: 1` apart, and groups with `apart_from` apart from each other.
 *
 * Proxmox always enforces a rule: a VM that has no node left stays down. So `spread` alone, which is a preference,
 * becomes a rule only if each member still has its own node after one node has failed. Pure.
 */
import type { Address } from '../../base/address.ts';
import type { ResolvedStack } from '../stack.ts';
import { byName } from '../vm/placement/ledger.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type RuleSense, ruleName } from './rule.ts';

export interface DesiredRule {
  readonly rule: string;
  readonly sense: RuleSense;
  readonly members: readonly Address[];
}

type Named = { readonly words: readonly string[]; readonly parts?: readonly string[] } & Omit<DesiredRule, 'rule'>;

/** `nodes`: all of the cluster. Rules with one member are among them: VMs that left the file may be in them, too. */
export function desiredRules(stack: Pick<ResolvedStack, 'name' | 'vms'>, nodes: readonly string[]): DesiredRule[] {
  const groups = new Map<string, ResolvedVm[]>();
  for (const vm of stack.vms) {
    if (!isRuled(vm)) continue;
    groups.set(vm.group, [...(groups.get(vm.group) ?? []), vm]);
  }
  const named = [
    ...[...groups].flatMap(([group, vms]) => [...nodeRules(group, vms), ...spreadRules(group, vms, nodes)]),
    ...[...groups.keys()].flatMap((one, index) =>
      [...groups.keys()]
        .slice(index + 1)
        .flatMap((other) => apartRules(one, groups.get(one) ?? [], other, groups.get(other) ?? [])),
    ),
  ];
  const rules = named
    .filter(({ members }) => members.length > 0)
    .map(({ words, parts, ...rule }) => ({ rule: ruleName(stack.name, words, parts), ...rule }));
  return [...new Map(rules.map((rule) => [rule.rule, rule])).values()];
}

/** Whether the HA manager manages it, and the file allows rules for it. */
function isRuled({ fields: { ha }, placement }: ResolvedVm): boolean {
  return ha !== undefined && ha !== false && placement?.haRules !== false;
}

/** Members that an override allows on different nodes have separate rules. */
function nodeRules(group: string, vms: readonly ResolvedVm[]): Named[] {
  const byNodes = new Map<string, { nodes: readonly string[]; members: Address[] }>();
  for (const { placement, address, fields } of vms) {
    // Before Proxmox VE 9 the file may name a group, which then says on which nodes the VM runs.
    if (!placement || placement.nodes === 'all' || (fields.ha && fields.ha.group !== undefined)) continue;
    const nodes = [...placement.nodes].sort(byName);
    const known = byNodes.get(nodes.join()) ?? { nodes, members: [] };
    known.members.push(address);
    byNodes.set(nodes.join(), known);
  }
  return [...byNodes.values()].map(({ nodes, members }) => ({
    words: [group, 'nodes'],
    parts: nodes,
    sense: { type: 'node-affinity', nodes },
    members,
  }));
}

function spreadRules(group: string, vms: readonly ResolvedVm[], nodes: readonly string[]): Named[] {
  const members = vms.filter((vm) => isExclusive(vm) || isSpreadWithSpare(vm, vms.length, nodes));
  return [
    { words: [group, 'apart'], sense: { type: 'resource-affinity' }, members: members.map(({ address }) => address) },
  ];
}

const isExclusive = ({ placement }: ResolvedVm) => placement?.rules.maxPerNode === 1;

function isSpreadWithSpare({ placement }: ResolvedVm, size: number, nodes: readonly string[]): boolean {
  if (!placement?.rules.spread || placement.rules.maxPerNode !== undefined) return false;
  return size < (placement.nodes === 'all' ? nodes.length : placement.nodes.length);
}

/**
 * A rule keeps each of its members apart from each other one. So members of one group that may share a node are in
 * different rules; if each is on its own node anyway, one rule has the whole group. The setting of one group applies to
 * both.
 */
function apartRules(one: string, ones: readonly ResolvedVm[], other: string, others: readonly ResolvedVm[]): Named[] {
  const left = ones.filter(({ placement }) => placement?.rules.apartFrom.includes(other));
  const right = others.filter(({ placement }) => placement?.rules.apartFrom.includes(one));
  const isWhole = left.length === ones.length || right.length === others.length;
  const pairs = isWhole ? [[ones, others] as const] : [[left, others] as const, [ones, right] as const];
  return pairs.flatMap(([a, b]) =>
    partsOf(a).flatMap((part) =>
      partsOf(b).map((apart) => ({
        words: [one, 'apart-from', other],
        parts: [part.name, apart.name],
        sense: { type: 'resource-affinity' as const },
        members: [...part.vms, ...apart.vms].map(({ address }) => address),
      })),
    ),
  );
}

/** The members that one rule can have. */
function partsOf(vms: readonly ResolvedVm[]): { readonly name: string; readonly vms: readonly ResolvedVm[] }[] {
  if (vms.length > 0 && vms.every(isExclusive)) return [{ name: 'all', vms }];
  return vms.map((vm) => ({ name: vm.address, vms: [vm] }));
}
