/** How images, templates and VMs of one plan hang together. Pure. */
import type { Address } from '../../base/address.ts';
import { covers } from '../../base/address.ts';
import { imageVolid } from '../image/file.ts';
import { type ImagePlan, siteAddress } from '../image/plan.ts';
import { templateKey } from '../observe.ts';
import type { ImageSite, Observed, TemplateCandidate } from '../observed.ts';
import type { ResolvedStack, ResolvedTemplate, ResolvedVm } from '../stack.ts';
import type { Step } from '../step.ts';
import type { PackedEntry } from '../vm/packed.ts';
import type { CloneInput, CreateInput } from '../vm/steps.ts';
import type { TemplatePlan } from './plan.ts';

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

/** Images that are selected themselves, and those that selected VMs and planned templates are made from. */
export function neededImages(
  input: { readonly stack: ResolvedStack; readonly observed: Observed; readonly only?: readonly string[] },
  vms: readonly ResolvedVm[],
  templates: readonly TemplatePlan[],
): ImageSite[] {
  const { stack, observed, only = [] } = input;
  if (only.length === 0) return [...observed.images];
  const building = new Set(templates.map(({ change }) => change.address));
  const users = [...stack.templates.map(({ vm }) => vm).filter(({ address }) => building.has(address)), ...vms];
  const volumes = new Set(users.flatMap(volumesOf));
  return observed.images.filter((site) => {
    const isUsed = volumes.has(imageVolid(site.image.fields.storage, site.image.fields.content, site.image.file));
    return isUsed || only.some((selector) => covers(selector, siteAddress(site)) || selector === site.image.address);
  });
}

function volumesOf({ fields }: ResolvedVm): string[] {
  return Object.values(fields.disks ?? {}).flatMap(({ import_from, iso }) =>
    [import_from, iso].filter((volume): volume is string => typeof volume === 'string'),
  );
}

/** The cluster as the templates of the plan will have left it: whoever clones them finds what they will be. */
export function withForeseen(observed: Observed, plans: readonly TemplatePlan[]): Observed {
  const foreseen = plans.flatMap((plan) => plan.foreseen ?? []);
  if (foreseen.length === 0) return observed;
  const templates = new Map<string, readonly TemplateCandidate[]>(observed.templates);
  for (const candidate of foreseen) {
    for (const key of [templateKey(candidate.name ?? ''), templateKey(candidate.vmid)]) {
      // It takes the place of whatever has the name on its node now.
      const others = (templates.get(key) ?? []).filter(({ node }) => node !== candidate.node);
      templates.set(key, [...others, candidate]);
    }
  }
  return { ...observed, templates };
}

/** Templates that a machine is cloned from, and that the same plan makes. */
export function templatesUsed(steps: readonly Step[]): Address[] {
  return steps.flatMap((step) => {
    const { source } = step.action === 'vm.clone' ? (step.input as CloneInput) : {}; // the input of this action
    return source?.address === undefined ? [] : [source.address];
  });
}

/** Steps that bring an image which a machine is made from. */
export function imagesUsed(steps: readonly Step[], node: string, images: readonly ImagePlan[]): string[] {
  const texts = steps.flatMap(desiredOf).flatMap(({ desired }) => {
    if (desired.kind === 'disk') return [desired.create ?? ''];
    return desired.kind === 'cdrom' ? [desired.file] : [];
  });
  return images.flatMap(({ site, steps: bringing }) => {
    const volume = imageVolid(site.image.fields.storage, site.image.fields.content, site.image.file);
    const isReached = site.isShared || site.node === node;
    const isUsed = texts.some((text) => text === volume || text.split(',').includes(`import-from=${volume}`));
    return isReached && isUsed ? bringing.map(({ id }) => id) : [];
  });
}

function desiredOf({ action, input }: Step): readonly PackedEntry[] {
  return action === 'vm.create' || action === 'vm.configure' ? (input as CreateInput).desired : []; // both have it
}
