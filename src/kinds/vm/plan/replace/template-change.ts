/** Whether the template of a VM has changed since the VM was created, and whether the VM follows it. Pure. */
import type { Address } from '../../../../base/address.ts';
import type { GuestRow } from '../../../cluster.ts';
import type { PlanContext } from '../../../kind.ts';
import type { StackState } from '../../../recorded.ts';
import type { ResolvedStack } from '../../../stack.ts';
import { neededTemplates } from '../../../template/foreseen.ts';
import type { ResolvedVm } from '../../stack.ts';
import { templatesNamed } from '../choices/choose-template.ts';
import { updateOf } from '../roll/roll.ts';

interface TemplateContext {
  readonly stack: Pick<ResolvedStack, 'templates' | 'rollout'>;
  readonly state: StackState;
  readonly guests: ReadonlyMap<number, GuestRow>;
  /** Whether the plan builds a new version of this template of the stack. */
  isRebuilt(address: Address): boolean;
}

/** `update.replace` says that the VM is replaced once its template changes, and it has changed. */
export function followsTemplate(vm: ResolvedVm, context: TemplateContext): boolean {
  return updateOf(vm, context.stack.rollout).replace === 'when_template_changes' && isBehind(vm, context);
}

/** Templates that the kinds planned before this one will build. */
export function rebuiltTemplates({ planned }: Pick<PlanContext, 'planned'>): ReadonlySet<Address> {
  return new Set(planned.flatMap(({ change, steps }) => (change && steps.length > 0 ? [change.address] : [])));
}

function isBehind(vm: ResolvedVm, { stack, state, guests, isRebuilt }: TemplateContext): boolean {
  const { source } = state.vms[vm.address] ?? {};
  const reference = vm.fields.clone?.template;
  if (!source || reference === undefined) return false;
  // The state knows the templates of the stack better than the list of guests, which lags.
  const own = neededTemplates(stack, [vm]).flatMap(({ vm: { address } }) => {
    const vmid = state.vms[address]?.vmid;
    return vmid === undefined ? [] : [{ address, vmid }];
  });
  const origin = own.find(({ vmid }) => vmid === source.vmid);
  if (own.length > 0) return origin === undefined || isRebuilt(origin.address);
  const candidates = templatesNamed(reference, guests, vm.fields.node);
  return candidates.length > 0 && !candidates.some(({ vmid }) => vmid === source.vmid);
}
