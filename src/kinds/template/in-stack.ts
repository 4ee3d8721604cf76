/** The templates of a stack that its VMs are cloned from, as they will be. Pure. */
import type { Address } from '../../base/address.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedStack } from '../stack.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type TemplateCandidate, templateKey } from './observed.ts';
import type { TemplatePlan } from './plan.ts';
import type { ResolvedTemplate } from './stack.ts';

/** Templates of the stack that these VMs are cloned from, by name or by id. */
export function neededTemplates(
  { templates }: Pick<ResolvedStack, 'templates'>,
  vms: readonly ResolvedVm[],
): ResolvedTemplate[] {
  const references = new Set(vms.flatMap(({ fields }) => (fields.clone ? [templateKey(fields.clone.template)] : [])));
  return templates.filter(({ name, vm: { fields } }) => {
    return references.has(templateKey(name)) || (fields.vmid !== undefined && references.has(templateKey(fields.vmid)));
  });
}

/** The token that clones of a template depend on. */
export function templateToken(address: Address): string {
  return `template:${address}`;
}

/** The cluster with the templates as the plan will leave them. */
export function withForeseen(observed: Observed, plans: readonly TemplatePlan[]): Observed {
  const foreseen = plans.flatMap((plan) => plan.foreseen ?? []);
  if (foreseen.length === 0) return observed;
  const templates = new Map<string, readonly TemplateCandidate[]>(observed.templates);
  for (const candidate of foreseen) {
    for (const key of [templateKey(candidate.name ?? ''), templateKey(candidate.vmid)]) {
      // It replaces the template that has the name on its node now.
      const others = (templates.get(key) ?? []).filter(({ node }) => node !== candidate.node);
      templates.set(key, [...others, candidate]);
    }
  }
  return { ...observed, templates };
}
