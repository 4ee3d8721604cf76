/** Rules about VMs, and what they have in common. */
import { kindOf } from '../../../base/address.ts';
import type { Complaint, Rule } from '../../fields/rule.ts';
import type { OutputsSpec } from '../../stack.ts';
import type { ResolvedVm } from '../stack.ts';

export interface Violation extends Complaint {
  readonly vm: ResolvedVm;
}

export type VmRule = Rule<ResolvedVm, Violation>;

/** A rule that compares VMs; it includes templates if the rule says so. */
export interface StackRule {
  readonly reads: readonly string[];
  readonly withTemplates?: true;
  readonly check: (vms: readonly ResolvedVm[], outputs: OutputsSpec) => Iterable<Violation>;
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
