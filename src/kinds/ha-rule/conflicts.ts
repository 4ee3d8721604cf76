/**
 * Why Proxmox would refuse a rule, found before it is sent: the server answers only that the rule is invalid. The
 * checks mirror those of the server; disabled rules do not count. Pure. Source: pve-ha-manager Rules.pm,
 * Rules/NodeAffinity.pm, Rules/ResourceAffinity.pm, check_*.
 */
import type { HaRule } from '../../pve/index.ts';

export interface CheckedRule {
  readonly rule: string;
  readonly type: string;
  /** Resource names: `vm:101`, or the address of a VM that has no id yet. */
  readonly resources: readonly string[];
  readonly nodes?: readonly string[] | undefined;
  readonly affinity?: string | undefined;
  readonly disable?: boolean | undefined;
}

/**
 * Sentences; none if Proxmox would accept the rule. `others`: all rules of the cluster as they will be, without this
 * one.
 */
export function conflictsOf(
  rule: CheckedRule,
  others: readonly CheckedRule[],
  nodeCount: number,
  confining = 'node affinity rule',
): string[] {
  const enabled = others.filter(({ disable }) => !disable);
  const nodeRules = enabled.filter(({ type }) => type === 'node-affinity');
  const affinities = enabled.filter(({ type }) => type === 'resource-affinity');
  return rule.type === 'node-affinity'
    ? [
        ...takenElsewhere(rule, nodeRules, confining),
        ...joinedByPositive(rule, nodeRules, affinities.filter(isPositive)),
        ...affinities
          .filter((other) => !isPositive(other))
          .flatMap((other) => tooFewNodes(other, [...nodeRules, rule])),
      ]
    : [
        ...tooMany(rule, nodeCount),
        ...contradicted(rule, affinities.filter(isPositive)),
        ...prioritised(rule, nodeRules),
        ...tooFewNodes(rule, nodeRules),
      ];
}

const isPositive = ({ affinity }: CheckedRule) => affinity === 'positive';

function takenElsewhere({ resources }: CheckedRule, nodeRules: readonly CheckedRule[], confining: string): string[] {
  return nodeRules.flatMap((other) => {
    const common = shared(resources, other);
    if (common.length === 0) return [];
    return [`${common.join(', ')} is in the ${confining} "${other.rule}" already, and Proxmox allows one for each VM.`];
  });
}

function joinedByPositive(
  { resources }: CheckedRule,
  nodeRules: readonly CheckedRule[],
  positive: readonly CheckedRule[],
): string[] {
  return positive.flatMap((other) => {
    if (shared(resources, other).length === 0) return [];
    const second = nodeRules.find((each) => shared(each.resources, other).length > 0);
    if (!second) return [];
    return [
      `The rule "${other.rule}" keeps its VMs together, and the node affinity rule "${second.rule}" applies to others of them.`,
    ];
  });
}

function tooMany({ resources }: CheckedRule, nodeCount: number): string[] {
  if (resources.length <= nodeCount) return [];
  return [`It keeps ${resources.length} VMs apart, and the cluster has ${nodeCount} nodes.`];
}

function contradicted({ resources }: CheckedRule, positive: readonly CheckedRule[]): string[] {
  return positive.flatMap((other) => {
    const common = shared(resources, other);
    return common.length < 2 ? [] : [`The rule "${other.rule}" keeps ${common.join(' and ')} together.`];
  });
}

function prioritised({ resources }: CheckedRule, nodeRules: readonly CheckedRule[]): string[] {
  return nodeRules.flatMap((other) => {
    const priorities = new Set((other.nodes ?? []).map((node) => node.split(':')[1] ?? '0'));
    const common = shared(resources, other);
    if (common.length === 0 || priorities.size < 2) return [];
    return [
      `${common.join(', ')} is in the node affinity rule "${other.rule}", whose nodes have different priorities; Proxmox does not combine the two.`,
    ];
  });
}

/** VMs that must be apart and are confined to too few nodes. */
function tooFewNodes(negative: CheckedRule, nodeRules: readonly CheckedRule[]): string[] {
  const paired = nodeRules.filter((other) => shared(negative.resources, other).length > 0);
  const confined = new Set(paired.flatMap((other) => shared(negative.resources, other)));
  const nodes = new Set(paired.flatMap(({ nodes: all = [] }) => all.map((node) => node.split(':')[0])));
  if (confined.size <= nodes.size) return [];
  const names = paired.map(({ rule }) => `"${rule}"`).join(', ');
  return [
    `"${negative.rule}" keeps ${[...confined].join(', ')} apart, and ${names} leaves them only ${[...nodes].sort().join(', ')}.`,
  ];
}

function shared(resources: readonly string[], other: Pick<HaRule, 'resources'> | CheckedRule): string[] {
  return resources.filter((sid) => other.resources.includes(sid));
}
