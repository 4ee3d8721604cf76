/**
 * `ha-rule.keep` writes a rule as planned for the VMs that exist now; `ha-rule.leave` takes VMs out of one, or removes
 * it. Both read the rules first and write with their digest. Resources of other clients in a rule of ours stay in it.
 */

import type { Address } from '../../base/address.ts';
import { hasCode, ProxwrightError } from '../../base/errors.ts';
import { Attempts, RETRIES } from '../../base/retry.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import { printDuration, upTo } from '../../base/values/units.ts';
import type { HaRule } from '../../pve/index.ts';
import type { Action, ActionContext } from '../action.ts';
import { type Need, need, on } from '../privileges/need.ts';
import { foreign } from '../safety/foreign.ts';
import { inRounds, type RoundEnd } from '../safety/rounds.ts';
import type { VmContext } from '../vm/actions/context.ts';
import { type RuleBook, ruleBook } from './book.ts';
import { conflictsOf } from './conflicts.ts';
import {
  fewestMembers,
  hasMembers,
  isOurRule,
  type KeepRuleInput,
  type LeaveRuleInput,
  ruleComment,
  saysThe,
  sidOf,
} from './rule.ts';

/** A rule concerns VMs, and their ids are in their records. */
export type RuleContext = ActionContext & Pick<VmContext, 'recordedOf'>;

export const keepRule: Action<KeepRuleInput, RuleContext> = async (context, input) => {
  const attempts = new Attempts(RETRIES.haManager, context);
  for (;;) {
    try {
      return await inRounds(context, 'keep the HA rule', () => keepOnce(context, input));
    } catch (error) {
      const isAgain = await attempts.again(error, (pauseMs) => {
        context.progress(upTo('waiting for the HA manager to start', RETRIES.haManager.budgetMs));
        context.log.log('info', `${context.address}: not accepted yet, trying again in ${printDuration(pauseMs)}`);
      });
      if (!isAgain) throw error;
    }
  }
};

async function keepOnce(context: RuleContext, { rule: name, sense, members }: KeepRuleInput): Promise<RoundEnd> {
  const { signal, log } = context;
  const book = await bookOf(context);
  const [rules, managed] = await Promise.all([book.list({ signal }), managedSids(context)]);
  const own = members.flatMap((address) => sidsOf(context, address)).filter((sid) => managed.has(sid));
  const observed = rules.find(({ rule }) => rule === name);
  if (observed && !isOurs(context, observed, own)) throw notOurs(name);
  const others = (observed?.resources ?? []).filter((sid) => !own.includes(sid) && managed.has(sid));
  const resources = [...own, ...others].sort();
  if (resources.length < fewestMembers(sense)) return 'done';
  const isSame = observed !== undefined && saysThe(sense, observed) && hasMembers(observed, resources);
  if (observed && isSame && observed.disable !== true) return 'done';
  const params =
    sense.type === 'node-affinity'
      ? { type: sense.type, resources, nodes: sense.nodes, strict: true }
      : { type: sense.type, resources, affinity: 'negative' as const };
  await context.intend({ rule: name, ...params, sentAt: context.clock.now() });
  try {
    if (observed && observed.type === sense.type) {
      const change = { ...params, digest: observed.digest, ...(observed.disable && { delete: 'disable' as const }) };
      await book.update(name, change, { signal });
    } else if (observed) {
      await book.delete(name, { signal });
    } else {
      await book.create(name, { ...params, comment: ruleComment(context) }, { signal });
    }
  } catch (error) {
    // Another client, or a request of an interrupted run that arrived late, was faster.
    if (hasCode(error, 'ALREADY_EXISTS', 'NOT_FOUND')) return 'again';
    throw explained(error, name, params, rules);
  }
  log.log('info', `HA rule ${name}: ${resources.join(', ')}`);
  return 'again';
}

export const leaveRule: Action<LeaveRuleInput> = (context, { rule: name, leaving }) =>
  inRounds(context, 'leave the HA rule', async () => {
    const { signal, log } = context;
    const book = await bookOf(context);
    const [rules, managed] = await Promise.all([book.list({ signal }), managedSids(context)]);
    const observed = rules.find(({ rule }) => rule === name);
    const gone = new Set(leaving.map(sidOf));
    if (!observed || !isOurs(context, observed, [...gone])) return 'done';
    const type = observed.type === 'node-affinity' ? observed.type : 'resource-affinity';
    const resources = observed.resources.filter((sid) => !gone.has(sid) && managed.has(sid));
    const isIdle = resources.length < fewestMembers({ type });
    if (!isIdle && observed.resources.every((sid) => !gone.has(sid))) return 'done';
    await context.intend({ rule: name, type, resources, sentAt: context.clock.now() });
    try {
      if (isIdle) await book.delete(name, { signal });
      else await book.update(name, { type, resources, digest: observed.digest }, { signal });
    } catch (error) {
      // Proxmox takes a VM out of its rules when it is destroyed, which does not need this privilege.
      if (hasCode(error, 'PRIVILEGE_MISSING')) return 'done';
      throw explained(error, name, { type, resources }, rules);
    }
    log.log('info', isIdle ? `Removed the HA rule ${name}` : `HA rule ${name}: ${resources.join(', ')}`);
    return 'again';
  });

async function bookOf({ pve, signal }: ActionContext): Promise<RuleBook> {
  return ruleBook(pve, await pve.authenticate({ signal }));
}

function sidsOf(context: RuleContext, address: Address): string[] {
  const vmid = context.recordedOf(address)?.vmid;
  return vmid === undefined ? [] : [sidOf(vmid)];
}

/** Proxmox refuses a rule that names another resource. */
async function managedSids({ pve, signal }: ActionContext): Promise<ReadonlySet<string>> {
  return new Set((await pve.cluster.ha.listAll({ signal })).map(({ sid }) => sid));
}

function isOurs({ stack, lineage }: ActionContext, rule: HaRule, own: readonly string[]): boolean {
  return isOurRule(rule, { stack, lineage }, (sid) => own.includes(sid));
}

function notOurs(rule: string): ProxwrightError {
  return foreign({
    why: `Since the plan was made, an HA rule "${rule}" appeared whose comment does not say that it belongs to this stack.`,
    hint: `If it is not needed: ${nodeCommand('ha-manager rules remove', [rule])}. Then apply again.`,
  });
}

/** The server says only that the rule is invalid. If no other rule explains it, the HA manager does not know its nodes yet. */
function explained(
  error: unknown,
  name: string,
  rule: { readonly type: string; readonly resources: readonly string[]; readonly nodes?: readonly string[] },
  rules: readonly HaRule[],
): unknown {
  if (!(error instanceof ProxwrightError) || error.code !== 'PARAMETER_REJECTED') return error;
  const others = rules.filter((other) => other.rule !== name);
  const why = conflictsOf({ ...rule, rule: name, affinity: 'negative' }, others, Number.POSITIVE_INFINITY);
  if (why.length === 0) return error;
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `Since the plan was made, other HA rules changed. ${why.join(' ')}`,
    hint: 'Make a new plan.',
    cause: error,
  });
}

export function ruleNeeds(): Need[] {
  const cause = { field: 'ha' };
  return [need('Sys.Console', on('/'), cause), need('Sys.Audit', on('/'), cause)];
}
