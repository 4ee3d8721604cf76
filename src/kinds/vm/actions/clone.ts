/** `vm.clone`: a new VM out of a template. */
import type { Action } from '../../action.ts';
import type { CloneInput } from '../steps.ts';
import { makeVm } from './make.ts';

export const cloneVm: Action<CloneInput> = async (context, input) => {
  const { source, target } = input;
  const isFull = input.mode === 'full';
  const sourceId =
    source.address === undefined ? source.vmid : (context.recordedOf(source.address)?.vmid ?? source.vmid);
  await makeVm(context, {
    what: 'clone',
    name: input.name,
    ids: input,
    node: source.node,
    recipe: input.recipe,
    notes: input.notes,
    send: (newid, description) =>
      context.pve
        .node(source.node)
        .vm(sourceId)
        .clone(
          {
            newid,
            name: input.name,
            description,
            full: isFull,
            pool: input.pool,
            // A linked clone lives where its template does, and the server refuses to be told so.
            ...(isFull && { storage: input.storage, format: input.format }),
            ...(target !== undefined && target !== source.node && { target }),
          },
          { signal: context.signal },
        ),
  });
};
