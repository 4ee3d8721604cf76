/** What a plan says about HA rules and groups: those that Proxmox would refuse, that wait, or that cannot be kept. Pure. */

import type { Address } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import { whereOf } from '../fields/positions.ts';
import type { PlanContext } from '../kind.ts';
import { foreign } from '../safety/foreign.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { hasGroups } from './book.ts';
import type { DesiredRule } from './desired.ts';
import { fewestMembers } from './rule.ts';

/** What the server calls them, and how to remove one by hand. */
export interface Words {
  readonly noun: string;
  /** The noun for a rule that confines VMs to nodes. */
  readonly confining: string;
  readonly remove: 'ha-manager groupremove' | 'ha-manager rules remove';
}

export const wordsFor = ({ observed }: PlanContext): Words =>
  hasGroups(observed.version)
    ? { noun: 'HA group', confining: 'HA group', remove: 'ha-manager groupremove' }
    : { noun: 'HA rule', confining: 'node affinity rule', remove: 'ha-manager rules remove' };

const OPT_OUT = setting('placement', { ha_rules: false });

function firstOf({ members }: DesiredRule, { stack }: PlanContext): ResolvedVm | undefined {
  return stack.vms.find(({ address }) => address === members[0]);
}

export function nameTaken({ rule }: DesiredRule, vm: ResolvedVm, { noun, remove }: Words): Diagnostic {
  return foreign({
    where: whereOf(vm, 'ha'),
    why: `There is an ${noun} "${rule}", and its comment does not say that it belongs to this stack.`,
    hint: advice`If it is not needed: ${nodeCommand(remove, [rule])}. To have none: ${OPT_OUT}.`,
  }).diagnostic;
}

export function refused({ rule }: DesiredRule, vm: ResolvedVm, why: readonly string[], { noun }: Words): Diagnostic {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm, 'ha'),
    detail: `Proxmox does not accept the ${noun} "${rule}" that follows from "placement". ${why.join(' ')}`,
    hint: advice`Change "placement" or the other ${noun}, or keep none for these VMs: ${OPT_OUT}.`,
  }).diagnostic;
}

export function notYet(rule: DesiredRule, postponed: readonly Address[], context: PlanContext): Diagnostic {
  const { sense } = rule;
  const vm = firstOf(rule, context);
  const why =
    sense.type === 'node-affinity'
      ? `is not on ${sense.nodes.join(', ')}`
      : 'is on the same node as another VM that the rule keeps apart from it';
  return {
    ...new ProxwrightError({
      code: 'CANNOT_MOVE',
      ...(vm && { where: whereOf(vm, 'ha') }),
      detail: `The ${wordsFor(context).noun} "${rule.rule}" does not apply to ${postponed.join(', ')} yet: it ${why}. The HA manager would move it.`,
      hint: advice`Move it with ${command('rebalance')}, then apply again.`,
    }).diagnostic,
    severity: 'warning',
  };
}

/** The token may not read them. */
export function notKept(rules: readonly DesiredRule[], context: PlanContext): Diagnostic[] {
  const { haRules, version } = context.observed;
  const [first] = rules.filter(({ members, sense }) => members.length >= fewestMembers(sense));
  const vm = first && firstOf(first, context);
  if (!vm || haRules?.ok !== false) return [];
  const noun = hasGroups(version) ? 'HA groups' : 'HA rules';
  return [notChecked(vm, `${noun} are neither compared nor kept: the token needs ${haRules.needs}.`, haRules.needs)];
}

/** Groups only say on which nodes a resource may be. */
export function beyondGroups(rules: readonly DesiredRule[], context: PlanContext): Diagnostic[] {
  const apart = rules.filter(({ sense, members }) => sense.type === 'resource-affinity' && members.length > 1);
  const [first] = apart;
  const vm = first && firstOf(first, context);
  if (!vm) return [];
  const members = [...new Set(apart.flatMap((rule) => rule.members))];
  const detail = `Proxmox VE ${context.observed.version.version} has HA groups and no rules, so nothing keeps VMs apart after a failover: it may place ${members.join(', ')} on the same node.`;
  return [notChecked(vm, detail)];
}

function notChecked(vm: ResolvedVm, detail: string, needs?: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail,
    where: whereOf(vm, 'ha'),
    ...(needs !== undefined && { facts: { needs } }),
  };
}
