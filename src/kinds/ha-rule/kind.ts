/** HA rules keep a failover to what `placement` says. They are derived from the VMs of a stack and recorded nowhere. */
import { counted } from '../../base/values/units.ts';
import type { Kind, NeedsContext, StepNeeds } from '../kind.ts';
import type { Step } from '../step.ts';
import { fieldFinder } from '../vm/privileges/field-finder.ts';
import { keepRule, leaveRule, ruleNeeds } from './actions.ts';
import { observeRules } from './observe.ts';
import { planDestroyedRules, planRules } from './plan.ts';
import { isRuleStep, KEEP_RULE, LEAVE_RULE, type RuleStep } from './rule.ts';

export const haRuleKind: Kind = {
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
  return plan.steps.filter(isRuleStep).map((step: RuleStep) => {
    const first = step.action === KEEP_RULE ? step.input.members[0] : undefined;
    const vm = stack.vms.find(({ address }) => address === first);
    return { needs: ruleNeeds(), step: step.action, ...fieldFinder(vm, (step as Step).address, observed) };
  });
}
