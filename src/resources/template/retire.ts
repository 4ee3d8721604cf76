/** `template.retire`: the version that has the name gives it up. It stays what it is: linked clones rest on its disks. */
import { invariant } from '../../base/assert.ts';
import type { Action } from '../action.ts';
import { findVm } from '../vm/actions/look.ts';
import { inRounds } from '../vm/actions/rounds.ts';
import { notOurs, sameVm } from '../vm/identity.ts';
import type { RetireInput } from './steps.ts';

export const retireTemplate: Action<RetireInput> = async (context, { former, name }) => {
  const known = context.memoryOf(former);
  invariant(known?.uuid !== undefined, `${former} is not remembered.`);
  await inRounds(context, 'retire', async () => {
    const vm = await findVm(context, known.node, known.vmid);
    if (!vm || vm.current.get('name') === name) return 'done';
    if (!sameVm(known, vm)) {
      const where = { address: context.address };
      throw notOurs({ address: former, recorded: known, observed: vm, acted: context.sight.acted, where });
    }
    await context.intend({ former, vmid: vm.vmid, node: vm.node, name });
    context.progress(`${vm.vmid} becomes ${name}`);
    await context.pve.node(vm.node).vm(vm.vmid).config.put({ name, digest: vm.digest }, { signal: context.signal });
    return 'again';
  });
};
