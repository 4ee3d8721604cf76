/**
 * HA rules as data: the rules that a stack asks for, how ours are named and recognised, and the steps that change them.
 * Rules belong to the whole cluster. Ours have a name that begins with `proxwright-` and a comment with the name of the
 * stack and the lineage of its state; a rule that lacks either belongs to another client.
 */
import { createHash } from 'node:crypto';
import type { Address } from '../../base/address.ts';
import type { HaRule } from '../../pve/index.ts';
import type { Step } from '../step.ts';
import { shortLineage } from '../vm/ownership.ts';

export const KEEP_RULE = 'ha-rule.keep';
export const LEAVE_RULE = 'ha-rule.leave';

/** What a rule says, without its members. */
export type RuleSense =
  /** Its members run on these nodes and on no others. */
  | { readonly type: 'node-affinity'; readonly nodes: readonly string[] }
  /** No two of its members run on the same node. */
  | { readonly type: 'resource-affinity' };

export interface KeepRuleInput {
  readonly rule: string;
  readonly sense: RuleSense;
  /** VMs of the stack; their ids are known when the step runs. */
  readonly members: readonly Address[];
  /** What the plan found, for people: a rule that it creates, completes or puts right. */
  readonly was: 'absent' | 'incomplete' | 'changed';
  /** For people: the server has groups instead of rules. */
  readonly isGroup?: true;
}

export interface LeaveRuleInput {
  readonly rule: string;
  /** IDs of VMs that leave it. */
  readonly leaving: readonly number[];
  /** No member that needs it is left. */
  readonly removes: boolean;
  /** For people: the server has groups instead of rules. */
  readonly isGroup?: true;
}

export type RuleStep = Step<typeof KEEP_RULE, KeepRuleInput> | Step<typeof LEAVE_RULE, LeaveRuleInput>;

export function keepStep(input: KeepRuleInput, needs: readonly string[]): RuleStep {
  const address = addressOfRule(input.rule);
  return { id: `${address}/keep`, stage: 'configure', address, action: KEEP_RULE, input, needs };
}

export function leaveStep(input: LeaveRuleInput): RuleStep {
  const address = addressOfRule(input.rule);
  return { id: `${address}/leave`, stage: 'prepare', address, action: LEAVE_RULE, input, needs: [] };
}

export function isRuleStep(step: Step): step is RuleStep {
  return step.action === KEEP_RULE || step.action === LEAVE_RULE;
}

/** No address of a VM begins like this: a rule belongs to no resource alone. */
const addressOfRule = (rule: string) => `ha-rule.${rule}` as Address;

/** Fewer resources have no effect, and Proxmox refuses such a rule. */
export function fewestMembers({ type }: Pick<RuleSense, 'type'>): number {
  return type === 'resource-affinity' ? 2 : 1;
}

export function sidOf(vmid: number): string {
  return `vm:${vmid}`;
}

const PREFIX = 'proxwright-';
/** An upgrade to Proxmox VE 9 turns each group into a rule with such a name, and copies its comment. */
const FROM_GROUP = 'ha-group-';
const LONGEST_PART = 24;

/** Readable, and different for different parts, whatever characters they have: `proxwright-lab-control-apart-3f9a1c`. */
export function ruleName(stack: string, words: readonly string[], parts: readonly string[] = []): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([stack, words, parts]))
    .digest('hex')
    .slice(0, 6);
  const readable = [stack, ...words].map((word) => word.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, LONGEST_PART));
  return `${PREFIX}${readable.join('-')}-${hash}`;
}

export interface RuleOwner {
  readonly stack: string;
  readonly lineage?: string | undefined;
}

const MARK = /(?:^|\s)proxwright: stack=(\S+)(?: lineage=(\S+))?/;

/** Stack names are plain words, so nothing has to be escaped. */
export function ruleComment({ stack, lineage }: RuleOwner): string {
  return `proxwright: stack=${stack}${lineage === undefined ? '' : ` lineage=${shortLineage(lineage)}`}`;
}

/**
 * Whether the rule was made for this stack. People may add to the comment. A rule of another state of the same name is ours
 * only if VMs of ours are in it: the state was lost and recovered.
 */
export function isOurRule(
  { rule, comment = '', resources }: HaRule,
  { stack, lineage }: RuleOwner,
  isOurs: (sid: string) => boolean,
): boolean {
  const [, named, made] = MARK.exec(comment) ?? [];
  const name = rule.startsWith(FROM_GROUP) ? rule.slice(FROM_GROUP.length) : rule;
  if (!name.startsWith(PREFIX) || named !== stack) return false;
  return made === undefined || made === shortLineage(lineage ?? '') || resources.some(isOurs);
}

/** Whether an enabled rule says this; the order of nodes does not matter. */
export function saysThe(sense: RuleSense, { type, affinity, nodes = [], strict }: HaRule): boolean {
  if (type !== sense.type) return false;
  if (sense.type === 'resource-affinity') return affinity === 'negative';
  return strict === true && [...nodes].sort().join() === [...sense.nodes].sort().join();
}

/** The server lists members in the order in which they came under HA. */
export function hasMembers({ resources }: HaRule, members: readonly string[]): boolean {
  return [...resources].sort().join() === [...members].sort().join();
}
