/** Templates: built as VMs, then converted; a changed recipe builds a new version beside the old one. */

import type { ResolvedSecret } from '../../base/secret.ts';
import type { Kind, KindPlan, PlanContext, ResourcePlan } from '../kind.ts';
import type { VmContext } from '../vm/actions/context.ts';
import { shownFields } from '../vm/fields/secrets.ts';
import { machineToken, needsCreation, volumesUsed } from '../vm/plan/machines.ts';
import { destroyMachines, removedMachines } from '../vm/plan/removal.ts';
import { ownershipStep } from '../vm/take-over/take-over.ts';
import { TEMPLATE_ACTIONS } from './actions.ts';
import { neededTemplates, templateToken, withForeseen } from './foreseen.ts';
import { planTemplate, type TemplatePlan } from './plan.ts';
import { recipeOf } from './recipe.ts';

export const templateKind: Kind<VmContext> = {
  prefixes: ['template', 'retired'],
  words: {
    nouns: { template: 'template', retired: 'former template' },
    verbs: { create: 'build', complete: 'finish' },
  },
  actions: TEMPLATE_ACTIONS,
  declared: ({ templates }) =>
    templates.map(({ vm, from, install }) => ({ address: vm.address, fields: shownFields(vm), from, install })),
  // Read with the VMs: a template is a VM until it is converted.
  observe: async () => ({}),
  plan,
  planDestroy: (context) => destroyMachines(context, ['template', 'retired']),
  // Recorded and settled with the VMs.
  unsettled: () => [],
  releaseStep: (address) => ownershipStep(address, undefined),
  // Counted with the VMs, because most of its steps are those of a VM.
  needs: () => [],
};

function plan(context: PlanContext): KindPlan {
  const plans = planTemplates(context);
  const { templates } = context.stack;
  const resources = plans.map(({ change, steps }): ResourcePlan => {
    const template = templates.find(({ vm }) => vm.address === change.address);
    return {
      change,
      steps,
      provides: [templateToken(change.address), machineToken(change.address)],
      uses: template ? volumesUsed(template.vm) : [],
    };
  });
  const removed = removedMachines(context, ['template', 'retired'], WORDS_OF_REMOVAL);
  return {
    resources: [...resources, ...removed],
    problems: [],
    warnings: [],
    foreseen: withForeseen(context.observed, plans),
  };
}

const WORDS_OF_REMOVAL = {
  forget: 'An earlier version of a template that no longer exists. Proxwright removes it from the state.',
  delete: 'An earlier version of a template.',
  keep: 'An earlier version of a template, kept for its linked clones; only --allow-delete deletes it.',
};

/** Templates that are selected, and those that selected VMs are cloned from. */
export function planTemplates(context: PlanContext): TemplatePlan[] {
  const { stack, state, observed, secrets, findings, isSelected, isReplaced } = context;
  const vms = stack.vms.filter(({ address }) => isSelected(address));
  const toMake = vms.filter(({ address }) => needsCreation(context, address) || isReplaced(address));
  const needed = new Set(neededTemplates(stack, toMake));
  return stack.templates.flatMap((template) => {
    const { address } = template.vm;
    if (!isSelected(address) && !needed.has(template)) return [];
    const made = planTemplate(
      {
        stackName: stack.name,
        template,
        state,
        observed,
        secrets: secrets.get(address) ?? new Map<string, ResolvedSecret>(),
        recipe: recipeOf(template, stack, secrets),
        replace: isReplaced(address),
        ids: context.ids,
      },
      findings,
    );
    return made ? [made] : [];
  });
}
