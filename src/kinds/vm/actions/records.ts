/**
 * `vm.take-from`, `vm.forget` and `vm.reserve`: what is recorded of a VM changes before anything happens on the server.
 * Each is a step like any other, so that the plan shows it and the journal holds it.
 */
import type { Action } from '../../action.ts';
import type { ReserveInput, TakeFromInput } from '../steps.ts';
import { chooseId } from './choose-id.ts';
import { patiently } from './rounds.ts';
import { removeAllSeeds } from './seed.ts';

/** The VM keeps its identity under another address: its group was renamed. */
export const takeFrom: Action<TakeFromInput> = async (context, { from }) => {
  if (context.recordedOf(from) !== undefined) await context.moveRecord(from, context.address);
};

/** The VM was removed outside; what is recorded of it would be mistaken for the one about to be made. */
export const forgetVm: Action<object> = async (context) => {
  await removeAllSeeds(context);
  await context.forget();
};

/** An id is chosen and recorded before anything is sent. A request of an earlier run that may still arrive keeps its own. */
export const reserveId: Action<ReserveInput> = async (context, { node, name, ...ids }) => {
  const recorded = context.recorded();
  if (recorded?.uuid !== undefined || recorded?.nonce !== undefined) return;
  const vmid = await patiently(context, () => chooseId(context, ids));
  await context.learn({ vmid, node, name, phase: 'creating' });
};
