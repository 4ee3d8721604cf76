/**
 * What a rule is: one statement about VMs, templates or images that the types of their fields cannot make. Each is stated
 * once, in its file.
 */
import { type Address, kindOf } from '../../base/address.ts';
import type { Severity, Where } from '../../base/diagnostics.ts';
import type { Hint } from '../../base/hint.ts';
import type { OutputsSpec, ResolvedImage, ResolvedTemplate, ResolvedVm } from '../types.ts';

/** What is said about something that is clear from the context. */
export interface Complaint {
  /** Field path it is shown at; the nearest one that was written counts. */
  readonly path: string;
  readonly detail: string;
  readonly hint?: Hint | string;
  readonly severity?: Severity;
}

export interface Violation extends Complaint {
  readonly vm: ResolvedVm;
}

/**
 * About one VM. `reads` lists the paths the rule looks at, `*` for any slot: a VM with a mistake there is passed over,
 * because it has its own complaint already.
 */
export interface VmRule {
  readonly reads: readonly string[];
  readonly check: (vm: ResolvedVm) => Iterable<Violation>;
}

/** About several VMs together; templates are among them where the rule says so. */
export interface StackRule {
  readonly reads: readonly string[];
  readonly withTemplates?: true;
  readonly check: (vms: readonly ResolvedVm[], outputs: OutputsSpec) => Iterable<Violation>;
}

/** About one template, beside what is said of it as a VM. */
export interface TemplateRule {
  readonly reads: readonly string[];
  readonly check: (template: ResolvedTemplate) => Iterable<Complaint>;
}

/** About one image. */
export interface ImageRule {
  readonly reads: readonly string[];
  readonly check: (image: ResolvedImage) => Iterable<Complaint>;
}

export interface Positioned {
  readonly address: Address;
  readonly positions: Readonly<Record<string, Where>>;
}

/** Where a field was written or, failing that, what is around it. */
export function positionOf({ address, positions }: Positioned, path: string): Where {
  const parts = path === '' ? [] : path.split('.');
  for (let length = parts.length; length > 0; length--) {
    const where = positions[parts.slice(0, length).join('.')];
    if (where) return { ...where, address };
  }
  return { ...positions[''], address };
}

/** As the rules see what stands already or is copied: it has brought along what it is not told, just as a clone does. */
export function inheriting(vm: ResolvedVm): ResolvedVm {
  return vm.fields.clone ? vm : { ...vm, fields: { ...vm.fields, clone: { template: '', mode: 'full' } } };
}

export function isTemplate({ address }: ResolvedVm): boolean {
  return kindOf(address) === 'template';
}

/** Devices that are there after an apply as far as the file alone can tell. */
export function slotsThatStay(
  slots: Readonly<Record<string, { readonly remove?: true | undefined }>> | undefined,
): string[] {
  return Object.entries(slots ?? {}).flatMap(([slot, { remove }]) => (remove ? [] : [slot]));
}
