/** HA rules keep a failover to what `placement` says. They are derived from the VMs of a stack and recorded nowhere. */
import { counted } from '../../base/values/units.ts';
import { MAX_AGE_MS, readIfAllowed } from '../cluster.ts';
import type { Kind, NeedsContext, ObserveContext, StepNeeds } from '../kind.ts';
import type { Observed } from '../observed.ts';
import { isHaPath } from '../vm/ha.ts';
import { fieldFinder } from '../vm/privileges/field-finder.ts';
import { keepRule, leaveRule, type RuleContext, ruleNeeds } from './actions.ts';
import { ruleBook } from './book.ts';
import { planDestroyedRules, planRules } from './plan.ts';
import { isRuleStep, KEEP_RULE, LEAVE_RULE, type RuleStep } from './rule.ts';

export const haRuleKind: Kind<RuleContext> = {
  prefixes: [],
  words: {
    nouns: {},
    describeStep: (step) => (isRuleStep(step) ? described(step) : []),
    changeOf: (step) => (isRuleStep(step) ? changeOf(step) : undefined),
    countSteps: (count) => `${counted(count, 'HA rule')} to change.`,
  },
  actions: {
    [KEEP_RULE]: { label: 'ha', run: keepRule },
    [LEAVE_RULE]: { label: 'ha', run: leaveRule },
  },
  declared: () => [],
  observe: observeRules,
  plan: planRules,
  planDestroy: planDestroyedRules,
  unsettled: () => [],
  needs,
};

/** The HA rules of the cluster, or its groups before Proxmox VE 9, where the file or the state mentions `ha`. */
async function observeRules({ pve, stack, state, signal }: ObserveContext): Promise<Pick<Observed, 'haRules'>> {
  const isMentioned =
    stack.vms.some(({ fields }) => fields.ha !== undefined) ||
    Object.values(state.vms).some(({ lastApplied }) => Object.keys(lastApplied).some(isHaPath));
  if (!isMentioned) return {};
  const read = async () => {
    const book = ruleBook(pve, await pve.authenticate({ signal }));
    return book.list({ signal, maxAgeMs: MAX_AGE_MS.guests });
  };
  return { haRules: await readIfAllowed(read, 'Sys.Audit on /') };
}

function changeOf(step: RuleStep): 'create' | 'update' | 'delete' {
  if (step.action === LEAVE_RULE) return step.input.removes ? 'delete' : 'update';
  return step.input.was === 'absent' ? 'create' : 'update';
}

function described({ action, input }: RuleStep): string[] {
  const noun = input.isGroup ? 'HA group' : 'HA rule';
  if (action === LEAVE_RULE) {
    const vms = input.leaving.length === 0 ? [] : [`for ${input.leaving.map((vmid) => `VM ${vmid}`).join(', ')}`];
    return [input.removes ? `remove the ${noun}` : `take VMs out of the ${noun}`, ...vms];
  }
  const { sense, members, was } = input;
  const says =
    sense.type === 'node-affinity' ? `runs only on ${sense.nodes.join(', ')}` : 'each on a node without the others';
  const verb = { absent: 'create', incomplete: 'complete', changed: 'restore' }[was];
  return [
    `${verb} the ${noun}`,
    ...(was === 'changed' ? ['It was changed outside Proxwright, or "nodes" changed in the file.'] : []),
    `${members.join(', ')}: ${says}`,
  ];
}

function needs({ plan, stack, observed }: NeedsContext): StepNeeds[] {
  return plan.steps.filter(isRuleStep).map((step) => {
    const first = step.action === KEEP_RULE ? step.input.members[0] : undefined;
    const vm = stack.vms.find(({ address }) => address === first);
    return { needs: ruleNeeds(), step: step.action, ...fieldFinder(vm, step.address, observed) };
  });
}
