/**
 * `template.set-aside` and `template.retire`: an older version of a template makes way. It is recorded under an address of
 * its own before the new one is built, and gives up its name once the new one is complete. Linked clones rest on its disks,
 * so it stays.
 */
import { invariant } from '../../base/assert.ts';
import type { Action } from '../action.ts';
import { findVm } from '../vm/actions/look.ts';
import { inRounds } from '../vm/actions/rounds.ts';
import { notOurs, sameVm } from '../vm/identity.ts';
import type { RetireInput, SetAsideInput } from './steps.ts';

export const setAside: Action<SetAsideInput> = async (context, { as }) => {
  if (context.recorded() !== undefined && context.recordedOf(as) === undefined) {
    await context.moveRecord(context.address, as);
  }
};

export const retireTemplate: Action<RetireInput> = async (context, { former, name }) => {
  const known = context.recordedOf(former);
  invariant(known?.uuid !== undefined, `${former} is not remembered.`);
  await inRounds(context, 'retire', async () => {
    const vm = await findVm(context, known.node, known.vmid);
    if (!vm || vm.current.get('name') === name) return 'done';
    if (!sameVm(known, vm)) {
      const where = { address: context.address };
      throw notOurs({ address: former, recorded: known, observed: vm, acted: context.observed.acted, where });
    }
    await context.intend({ former, vmid: vm.vmid, node: vm.node, name });
    context.progress(`${vm.vmid} becomes ${name}`);
    await context.pve.node(vm.node).vm(vm.vmid).config.put({ name, digest: vm.digest }, { signal: context.signal });
    return 'again';
  });
};
