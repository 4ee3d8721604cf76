/** The templates of a stack that its VMs are cloned from, as they will be. Pure. */
import type { Address } from '../../base/address.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedStack } from '../stack.ts';
import type { DesiredConfig } from '../vm/config/desired.ts';
import { parseDrive } from '../vm/config/disks.ts';
import { packDesired } from '../vm/config/packed.ts';
import { printPropertyOf } from '../vm/config/parts.ts';
import { configureWrites } from '../vm/config/writes.ts';
import type { VmObserved } from '../vm/observed.ts';
import { desiredSizes } from '../vm/plan/creation.ts';
import { desiredValuesOf, type Owner, written } from '../vm/privileges/forecast.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type TemplateCandidate, templateKey } from './observed.ts';
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
export function withForeseen(
  observed: Observed,
  plans: readonly { readonly foreseen?: TemplateCandidate }[],
): Observed {
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

/** With all desired values: without the installation medium, with disks of their final size. */
export function finished(vm: VmObserved, desired: DesiredConfig, owner: Owner): VmObserved {
  const values = desiredValuesOf(packDesired(desired.values()), owner, vm);
  const made = configureWrites(values, vm).reduce((each, write) => written(each, write, values), vm);
  const current = new Map(made.current);
  for (const { slot, sizeBytes } of desiredSizes(desired)) {
    const text = current.get(slot);
    const drive = text === undefined ? undefined : parseDrive(slot, text);
    if (!drive || (drive.sizeBytes ?? 0) >= sizeBytes) continue;
    current.set(slot, printPropertyOf(slot, drive.value.with('size', `${Math.ceil(sizeBytes / 1024)}K`)));
  }
  return { ...made, current };
}

export function candidateOf({ name, vm }: ResolvedTemplate, made: VmObserved): TemplateCandidate {
  return {
    vmid: made.vmid,
    node: vm.fields.node,
    name,
    isTemplate: true,
    vm: { ok: true, value: made },
    address: vm.address,
  };
}
