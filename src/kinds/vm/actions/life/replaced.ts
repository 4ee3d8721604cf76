/**
 * Create-first replacement: `vm.set-aside` records the old VM under a separate address, so that the new one can take
 * the original address, and `vm.remove-replaced` destroys the old one once the new one is ready.
 */
import { replacedAddress } from '../../../../base/address.ts';
import { invariant } from '../../../../base/errors.ts';
import type { RemoveReplacedInput } from '../../steps.ts';
import type { VmAction, VmContext } from '../context.ts';
import { destroyVm } from './destroy.ts';

/** A context for the old VM of the step's VM. */
export function besideReplaced(context: VmContext): VmContext {
  return context.beside(replacedAddress(context.address));
}

export const setAside: VmAction<object> = async (context) => {
  const old = replacedAddress(context.address);
  if (context.recordedOf(old) === undefined) await context.moveRecord(context.address, old);
};

export const removeReplaced: VmAction<RemoveReplacedInput> = async (context) => {
  const old = besideReplaced(context);
  const vmid = old.recorded()?.vmid;
  invariant(vmid === undefined || vmid !== context.recorded()?.vmid, `${context.address} is VM ${vmid} itself.`);
  if (vmid !== undefined) await destroyVm(old, { stop: 'shutdown' });
};
