/** What a rule is: one statement about VMs that the types of their fields cannot make. Each is stated once, in its file. */
import type { Severity, Where } from '../../base/diagnostics.ts';
import type { OutputsSpec, ResolvedVm } from '../types.ts';

export interface Violation {
  readonly vm: ResolvedVm;
  /** Field path the violation is shown at; the nearest one that was written counts. */
  readonly path: string;
  readonly detail: string;
  readonly hint?: string;
  readonly severity?: Severity;
}

/**
 * About one VM. `reads` lists the paths the rule looks at, `*` for any slot: a VM with a mistake there is passed over,
 * because it has its own complaint already.
 */
export interface VmRule {
  readonly reads: readonly string[];
  readonly check: (vm: ResolvedVm) => Iterable<Violation>;
}

/** About several VMs together. */
export interface StackRule {
  readonly reads: readonly string[];
  readonly check: (vms: readonly ResolvedVm[], outputs: OutputsSpec) => Iterable<Violation>;
}

/** Where a field was written or, failing that, what is around it. */
export function positionOf(vm: ResolvedVm, path: string): Where {
  const parts = path === '' ? [] : path.split('.');
  for (let length = parts.length; length > 0; length--) {
    const where = vm.positions[parts.slice(0, length).join('.')];
    if (where) return { ...where, address: vm.address };
  }
  return { ...vm.positions[''], address: vm.address };
}

/** Devices that are there after an apply as far as the file alone can tell. */
export function slotsThatStay(
  slots: Readonly<Record<string, { readonly remove?: true | undefined }>> | undefined,
): string[] {
  return Object.entries(slots ?? {}).flatMap(([slot, { remove }]) => (remove ? [] : [slot]));
}
