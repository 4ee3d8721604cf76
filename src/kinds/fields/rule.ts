/**
 * A rule is a requirement on VMs, templates or images that the types of their fields cannot express. Each rule is written
 * once, in its file.
 */
import { kindOf } from '../../base/address.ts';
import type { Severity } from '../../base/diagnostics.ts';
import type { Hint } from '../../base/hint.ts';
import type { OutputsSpec, ResolvedImage, ResolvedTemplate, ResolvedVm } from '../stack.ts';

/** A problem with an object that is clear from the context. */
export interface Complaint {
  /** Field path to report; the nearest path that the file contains is used. */
  readonly path: string;
  readonly detail: string;
  readonly hint?: Hint | string;
  readonly severity?: Severity;
}

export interface Violation extends Complaint {
  readonly vm: ResolvedVm;
}

/**
 * A rule about one VM. `reads` lists the paths the rule reads, `*` for any slot. A VM with a mistake in one of them is
 * skipped, because that mistake has been reported already.
 */
export interface VmRule {
  readonly reads: readonly string[];
  readonly check: (vm: ResolvedVm) => Iterable<Violation>;
}

/** A rule that compares VMs; it includes templates if the rule says so. */
export interface StackRule {
  readonly reads: readonly string[];
  readonly withTemplates?: true;
  readonly check: (vms: readonly ResolvedVm[], outputs: OutputsSpec) => Iterable<Violation>;
}

/** A rule about one template, in addition to the rules about VMs. */
export interface TemplateRule {
  readonly reads: readonly string[];
  readonly check: (template: ResolvedTemplate) => Iterable<Complaint>;
}

/** A rule about one image. */
export interface ImageRule {
  readonly reads: readonly string[];
  readonly check: (image: ResolvedImage) => Iterable<Complaint>;
}

/** How rules see a VM that exists or is copied: like a clone, it has settings that the file does not mention. */
export function inheriting(vm: ResolvedVm): ResolvedVm {
  return vm.fields.clone ? vm : { ...vm, fields: { ...vm.fields, clone: { template: '', mode: 'full' } } };
}

export function isTemplate({ address }: ResolvedVm): boolean {
  return kindOf(address) === 'template';
}

/** Devices that the VM has after an apply, judged from the file alone. */
export function slotsThatStay(
  slots: Readonly<Record<string, { readonly remove?: true | undefined }>> | undefined,
): string[] {
  return Object.entries(slots ?? {}).flatMap(([slot, { remove }]) => (remove ? [] : [slot]));
}
