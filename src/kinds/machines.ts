/** Everything in a stack that is created as a VM: its templates, then its VMs. */
import type { ResolvedStack, ResolvedVm } from './stack.ts';

export function machinesOf({ templates, vms }: Pick<ResolvedStack, 'templates' | 'vms'>): readonly ResolvedVm[] {
  return [...templates.map(({ vm }) => vm), ...vms];
}
