/** `vm.create`: a new VM from nothing, an imported image or an ISO. Never started by the same request: that hides failures. */
import type { FormParams } from '../../../pve/index.ts';
import type { Action, ActionContext } from '../../action.ts';
import { unpackDesired } from '../packed.ts';
import type { CreateInput } from '../steps.ts';
import { creationValues } from '../writes.ts';
import { makeVm } from './make.ts';

export const createVm: Action<CreateInput> = async (context, input) => {
  const { node, name, pool } = input;
  const notes = input.desired.find(({ desired }) => desired.kind === 'notes')?.desired;
  await makeVm(context, {
    what: 'create',
    name,
    ids: input,
    node,
    recipe: input.recipe,
    notes: notes?.kind === 'notes' ? (notes.text ?? undefined) : undefined,
    send: (vmid, description) => {
      const params = { ...creationParams(context, input, vmid), vmid, name, description, pool };
      return context.pve.node(node).vms.create(params, { signal: context.signal });
    },
  });
};

function creationParams(context: ActionContext, input: CreateInput, vmid: number): FormParams {
  const { stack, address } = context;
  const secret = (key: string) => context.secret(key);
  return creationValues(unpackDesired(input.desired, { stack, address, vmid, uuid: undefined, secret }));
}
