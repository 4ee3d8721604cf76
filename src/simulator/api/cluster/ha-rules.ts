/** /cluster/ha/rules: which nodes HA resources run on, and which of them stay together or apart. Since 9.0. */
import { randomInteger } from '../../../base/random.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import type { Runtime } from '../../core/runtime.ts';
import { infeasibleRules } from '../../ha/feasibility.ts';
import { nodesText, parseNodes, resourcesText, rulesDigest } from '../../ha/rules.ts';
import type { HaRule } from '../../ha/state.ts';
import { dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import type { World } from '../../world/world.ts';

export const haRuleRoutes: Routes = {
  'GET /cluster/ha/rules': listRules,
  'POST /cluster/ha/rules': createRule,
  'GET /cluster/ha/rules/{rule}': readRule,
  'PUT /cluster/ha/rules/{rule}': updateRule,
  'DELETE /cluster/ha/rules/{rule}': (call) => {
    // Rule [recorded ha-rules-node-affinity]: deleting a missing rule succeeds.
    call.runtime.world.ha.rules.delete(call.params.rule);
    return null;
  },
};

const CREATE_FAILED = 'create ha rule failed';
const UPDATE_FAILED = 'update HA rules failed';

type RuleParams = Partial<CallTo<'PUT /cluster/ha/rules/{rule}'>['params']>;

function listRules(call: CallTo<'GET /cluster/ha/rules'>): Record<string, unknown>[] {
  const { type, resource } = call.params;
  return [...call.runtime.world.ha.rules.values()]
    .filter((rule) => type === undefined || rule.type === type)
    .filter((rule) => resource === undefined || rule.resources.has(resource))
    .map((rule) => ruleView(call.runtime, rule));
}

function readRule(call: CallTo<'GET /cluster/ha/rules/{rule}'>): Record<string, unknown> {
  const rule = call.runtime.world.ha.rules.get(call.params.rule);
  if (!rule) throw dieFault(`no such ha rule '${call.params.rule}'`);
  return ruleView(call.runtime, rule);
}

/**
 * Rule [recorded ha-rules-node-affinity]: the stored options, the position in the file, and why the rule is infeasible.
 */
function ruleView(runtime: Runtime, rule: HaRule): Record<string, unknown> {
  const { world } = runtime;
  const complaints = complaintsAbout(world, world.ha.rules.values(), rule.id);
  return {
    rule: rule.id,
    type: rule.type,
    resources: resourcesText(rule.resources),
    ...(rule.type === 'node-affinity' ? { nodes: nodesText(rule.nodes) } : { affinity: rule.affinity }),
    ...(rule.type === 'node-affinity' && rule.strict !== undefined && { strict: rule.strict ? 1 : 0 }),
    ...(rule.isDisabled && { disable: 1 }),
    ...(rule.comment !== undefined && { comment: rule.comment }),
    ...(complaints && { errors: { resources: complaints } }),
    order: [...world.ha.rules.keys()].indexOf(rule.id) + 1,
    digest: rulesDigest(world),
  };
}

/** Rule [source HA API2/HA/Rules.pm create_rule]: whether it exists, resources, nodes, then feasibility. */
function createRule(call: CallTo<'POST /cluster/ha/rules'>): null {
  const { world } = call.runtime;
  const { rule: id, type, ...params } = call.params;
  if (hasLineFeed(params)) throw dieFault(LINE_FEED);
  if (world.ha.rules.has(id)) throw dieFault(`${CREATE_FAILED}: HA rule '${id}' already defined`);
  assertKnown(call, params, CREATE_FAILED);
  const base = { id, resources: new Set<string>(), comment: undefined, isDisabled: false };
  const blank: HaRule =
    type === 'node-affinity'
      ? { ...base, type, nodes: new Map(), strict: undefined }
      : { ...base, type, affinity: params.affinity ?? 'positive' };
  const rule = changedRule(blank, params, new Set());
  assertFeasible(world, [...world.ha.rules.values(), rule], id, CREATE_FAILED);
  insertRule(call.runtime, rule);
  return null;
}

/**
 * Rule [source HA Rules.pm get_next_ordinal]: a new rule takes the place after the first one, which the second one has
 * already; which of them is written first is chance. From the third rule on the order is not that of creation.
 */
function insertRule({ world, random }: Runtime, rule: HaRule): void {
  const { rules } = world.ha;
  const later = [...rules].slice(1);
  const comesFirst = later.length > 0 && randomInteger(random, 0, 1) === 0;
  rules.set(rule.id, rule);
  moveBehind(rules, comesFirst ? later : later.slice(1));
}

/** Moves these entries to the end, in their order. */
function moveBehind(rules: Map<string, HaRule>, entries: readonly (readonly [string, HaRule])[]): void {
  for (const [id, rule] of entries) {
    rules.delete(id);
    rules.set(id, rule);
  }
}

/** Rule [source HA API2/HA/Rules.pm update_rule]: digest, rule, type, resources, nodes, deletions, then feasibility. */
function updateRule(call: CallTo<'PUT /cluster/ha/rules/{rule}'>): null {
  const { world } = call.runtime;
  const { rule: id, type, digest, delete: toDelete = '', ...params } = call.params;
  if (digest && digest !== rulesDigest(world)) {
    throw updateFault('detected modified configuration - file changed by other user? Try again.');
  }
  const present = world.ha.rules.get(id);
  if (!present) throw updateFault(`HA rule '${id}' does not exist`);
  // Rule [recorded ha-rules-node-affinity]: the server names one of the foreign properties at random; this is one of them.
  if (type !== present.type) throw updateFault("unexpected property 'type'");
  if (hasLineFeed(params)) throw updateFault(LINE_FEED);
  assertKnown(call, params, UPDATE_FAILED);
  const deleted = deletableOptions(present, params, splitList(toDelete));
  const rule = changedRule(present, params, deleted);
  const others = [...world.ha.rules.values()].filter((other) => other.id !== id);
  assertFeasible(world, [...others, rule], id, UPDATE_FAILED);
  world.ha.rules.set(id, rule);
  return null;
}

/**
 * Rule [source PC SectionConfig.pm check_value]: a value is one line; a creation checks this before it takes the lock.
 */
const LINE_FEED = 'property contains a line feed';

function hasLineFeed({ comment = '' }: RuleParams): boolean {
  return /[\n\r]/.test(comment);
}

function updateFault(detail: string): Error {
  return dieFault(`${UPDATE_FAILED}: ${detail}`);
}

const REQUIRED = { 'node-affinity': ['resources', 'nodes'], 'resource-affinity': ['resources', 'affinity'] };
const OPTIONAL = { 'node-affinity': ['strict', 'disable', 'comment'], 'resource-affinity': ['disable', 'comment'] };

/** Rule [source PC SectionConfig.pm delete_from_config]. */
function deletableOptions({ type }: HaRule, params: RuleParams, names: readonly string[]): Set<string> {
  const settings: Readonly<Record<string, unknown>> = { ...params, disable: params.disable || undefined };
  for (const name of names) {
    if (REQUIRED[type].includes(name)) throw updateFault(`unable to delete required option '${name}'`);
    if (!OPTIONAL[type].includes(name)) throw updateFault(`no such option '${name}'`);
    if (settings[name] !== undefined) throw updateFault(`cannot set and delete property '${name}' at the same time!`);
  }
  return new Set(names);
}

/** Rule [recorded ha-rules-node-affinity]: `disable=0` changes nothing; only deleting the option enables a rule. */
function changedRule(rule: HaRule, params: RuleParams, deleted: ReadonlySet<string>): HaRule {
  const base = {
    resources: params.resources === undefined ? rule.resources : new Set(splitList(params.resources)),
    // Rule [source PC SectionConfig.pm write_config]: an empty comment is not written.
    comment: (deleted.has('comment') ? undefined : (params.comment ?? rule.comment)) || undefined,
    isDisabled: !deleted.has('disable') && (params.disable === true || rule.isDisabled),
  };
  if (rule.type === 'resource-affinity') return { ...rule, ...base, affinity: params.affinity ?? rule.affinity };
  return {
    ...rule,
    ...base,
    nodes: params.nodes === undefined ? rule.nodes : parseNodes(params.nodes),
    strict: deleted.has('strict') ? undefined : (params.strict ?? rule.strict),
  };
}

/** Rule [recorded ha-rules-node-affinity]: resources that are not managed come before nodes that do not exist. */
function assertKnown({ runtime: { world } }: Call, { resources, nodes }: RuleParams, attempt: string): void {
  const missing = (names: Iterable<string>, isKnown: (name: string) => boolean) =>
    [...new Set(names)].filter((name) => !isKnown(name)).sort();
  if (resources !== undefined) {
    const sids = splitList(resources);
    if (sids.length === 0) throw dieFault(`${attempt}: no resources were specified`);
    const unmanaged = missing(sids, (sid) => world.ha.resources.has(sid));
    if (unmanaged.length > 0) throw dieFault(`${attempt}: cannot use unmanaged resource(s) ${unmanaged.join(', ')}.`);
  }
  if (nodes !== undefined) {
    const names = parseNodes(nodes);
    if (names.size === 0) throw dieFault(`${attempt}: no nodes were specified`);
    const unknown = missing(names.keys(), (node) => world.nodes.has(node));
    if (unknown.length > 0) throw dieFault(`${attempt}: cannot use non-existent node(s) ${unknown.join(', ')}.`);
  }
}

/**
 * Rule [source HA API2/HA/Rules.pm $check_feasibility]: the nodes are those that the manager has written into its
 * status, which is empty before it has become active for the first time.
 */
function complaintsAbout(world: World, rules: Iterable<HaRule>, id: string): readonly string[] | undefined {
  return infeasibleRules(rules, world.ha.manager?.isActive ? world.nodes.size : 0).get(id);
}

/** Rule [recorded ha-rules-node-affinity]: only the text of the exception is left; the 400 has become a part of it. */
function assertFeasible(world: World, rules: readonly HaRule[], id: string, attempt: string): void {
  const complaints = complaintsAbout(world, rules, id);
  if (!complaints) return;
  throw dieFault(`${attempt}: 400 Rule '${id}' is invalid.\nresources: ${complaints.join(', ')}`);
}
