/**
 * Which HA rules contradict each other or the cluster, with the server's messages. The manager ignores such rules; the
 * API refuses to create one. All messages are about the `resources` of a rule. Rule [source HA Rules.pm,
 * Rules/NodeAffinity.pm, Rules/ResourceAffinity.pm check_*]: the checks, in this order.
 */
import type { HaRule, NodeAffinityRule, ResourceAffinityRule } from './state.ts';

/** Messages by the id of the rule. */
export type Infeasible = ReadonlyMap<string, readonly string[]>;

interface RuleSets {
  readonly nodeAffinity: readonly NodeAffinityRule[];
  readonly resourceAffinity: readonly ResourceAffinityRule[];
  readonly positive: readonly ResourceAffinityRule[];
  readonly negative: readonly ResourceAffinityRule[];
  readonly nodeCount: number;
}

type Complain = (ids: readonly string[], text: string) => void;

export function infeasibleRules(rules: Iterable<HaRule>, nodeCount: number): Infeasible {
  const sets = ruleSets([...rules], nodeCount);
  const complaints = new Map<string, string[]>();
  for (const check of CHECKS) {
    check(sets, (ids, text) => {
      for (const id of ids) complaints.set(id, [...(complaints.get(id) ?? []), text]);
    });
  }
  return complaints;
}

/** Rule [recorded ha-rules-node-affinity]: disabled rules do not count. */
function ruleSets(rules: readonly HaRule[], nodeCount: number): RuleSets {
  const enabled = rules.filter((rule) => !rule.isDisabled);
  const resourceAffinity = enabled.filter((rule) => rule.type === 'resource-affinity');
  return {
    nodeAffinity: enabled.filter((rule) => rule.type === 'node-affinity'),
    resourceAffinity,
    positive: resourceAffinity.filter((rule) => rule.affinity === 'positive'),
    negative: resourceAffinity.filter((rule) => rule.affinity === 'negative'),
    nodeCount,
  };
}

const CHECKS: readonly ((sets: RuleSets, complain: Complain) => void)[] = [
  oneNodeRulePerResource,
  atLeastTwoResources,
  enoughNodes,
  togetherAndApart,
  oneNodePriority,
  oneNodeRulePerGroup,
  enoughAllowedNodes,
];

function oneNodeRulePerResource({ nodeAffinity }: RuleSets, complain: Complain): void {
  for (const rule of nodeAffinity) {
    const others = nodeAffinity.filter((other) => other !== rule);
    for (const sid of [...rule.resources].sort()) {
      if (!others.some((other) => other.resources.has(sid))) continue;
      complain([rule.id], `resource '${sid}' is already used in another node affinity rule`);
    }
  }
}

function atLeastTwoResources({ resourceAffinity }: RuleSets, complain: Complain): void {
  const alone = resourceAffinity.filter((rule) => rule.resources.size < 2);
  complain(idsOf(alone), 'rule is ineffective as there are less than two resources');
}

function enoughNodes({ negative, nodeCount }: RuleSets, complain: Complain): void {
  const crowded = negative.filter((rule) => rule.resources.size > nodeCount);
  complain(idsOf(crowded), 'rule defines more resources than available nodes');
}

function togetherAndApart({ positive, negative }: RuleSets, complain: Complain): void {
  for (const group of connectedGroups(positive)) {
    for (const rule of negative) {
      if (common(group.resources, rule.resources).length < 2) continue;
      complain([rule.id], 'rule shares two or more resources with a positive resource affinity rule');
      complain(group.ids, 'rule shares two or more resources with a negative resource affinity rule');
    }
  }
}

function oneNodePriority({ resourceAffinity, nodeAffinity }: RuleSets, complain: Complain): void {
  for (const rule of resourceAffinity) {
    const paired = nodeAffinity.filter((other) => overlap(other, rule));
    if (!paired.some(({ nodes }) => new Set(nodes.values()).size > 1)) continue;
    complain(
      idsOf(paired),
      'resources are in a resource affinity rule and cannot be in a node affinity rule with multiple priorities',
    );
    complain([rule.id], 'resources are in node affinity rules with multiple priorities');
  }
}

function oneNodeRulePerGroup({ positive, nodeAffinity }: RuleSets, complain: Complain): void {
  for (const group of connectedGroups(positive)) {
    const paired = nodeAffinity.filter((rule) => overlap(rule, group));
    if (paired.length < 2) continue;
    complain(group.ids, 'resources are in multiple node affinity rules');
    complain(
      idsOf(paired),
      'at least one resource is in a positive resource affinity rule and there are other resources in at least one other node affinity rule already',
    );
  }
}

function enoughAllowedNodes({ negative, nodeAffinity }: RuleSets, complain: Complain): void {
  for (const rule of negative) {
    const paired = nodeAffinity.filter((other) => overlap(other, rule));
    const located = new Set(paired.flatMap((other) => common(other.resources, rule.resources)));
    const allowed = new Set(paired.flatMap((other) => [...other.nodes.keys()]));
    if (allowed.size >= located.size) continue;
    complain([rule.id], 'two or more resources are restricted to less nodes than available to the resources');
    complain(
      idsOf(paired),
      'at least one resource is in a negative resource affinity rule and this rule would restrict these to less nodes than available to the resources',
    );
  }
}

interface Group {
  readonly ids: string[];
  readonly resources: Set<string>;
}

/**
 * Rule [source HA Rules/Helpers.pm find_disjoint_rules_resource_sets]: rules in the order of their lowest resource join
 * the first group that they overlap. Groups that a later rule connects stay apart, as they do on the server.
 */
function connectedGroups(rules: readonly ResourceAffinityRule[]): Group[] {
  const lowest = (rule: HaRule) => [...rule.resources].sort()[0] ?? '';
  const ordered = [...rules].sort((a, b) => compare(lowest(a), lowest(b)) || compare(a.id, b.id));
  const groups: Group[] = [];
  for (const rule of ordered) {
    const group = groups.find((each) => overlap(each, rule));
    if (!group) groups.push({ ids: [rule.id], resources: new Set(rule.resources) });
    else {
      group.ids.push(rule.id);
      for (const sid of rule.resources) group.resources.add(sid);
    }
  }
  return groups;
}

function common(a: ReadonlySet<string>, b: ReadonlySet<string>): string[] {
  return [...a].filter((sid) => b.has(sid));
}

function overlap(a: Pick<HaRule, 'resources'>, b: Pick<HaRule, 'resources'>): boolean {
  return common(a.resources, b.resources).length > 0;
}

function idsOf(rules: readonly HaRule[]): string[] {
  return rules.map(({ id }) => id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
