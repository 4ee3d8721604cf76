/**
 * `vm.take-from`, `vm.forget` and `vm.reserve`: what is recorded of a VM changes before anything happens on the server.
 * Each is a step like any other, so that the plan shows it and the journal holds it.
 */

import { ProxwrightError } from '../../../base/errors.ts';
import { VMID_MAX, VMID_MIN } from '../../../pve/index.ts';
import type { Action, ActionContext } from '../../action.ts';
import type { ReserveInput, TakeFromInput } from '../steps.ts';
import { patiently } from './look.ts';
import { idTaken, isFree } from './occupant.ts';
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

export interface DesiredId {
  readonly vmid?: number;
  readonly vmids?: readonly number[];
}

/** Reserved within the run, and free a moment ago; the server has the last word. */
export async function chooseId(context: ActionContext, desired: DesiredId): Promise<number> {
  const { ids, address } = context;
  if (desired.vmid !== undefined) {
    if (ids.reserve(desired.vmid, address)) return desired.vmid;
    throw idTaken(context, desired.vmid, ids.holderOf(desired.vmid));
  }
  const offered = desired.vmids ? undefined : await context.pve.cluster.nextid({ signal: context.signal });
  for (const vmid of desired.vmids ?? upwardFrom(offered ?? VMID_MIN)) {
    // Reserved before it is asked about: siblings choose at the same time.
    if (!ids.reserve(vmid, address)) continue;
    if (vmid === offered || (await isFree(context, vmid))) return vmid;
    ids.markTaken(vmid);
  }
  throw noneLeft(context, desired.vmids ?? []);
}

function* upwardFrom(first: number): Generator<number> {
  for (let vmid = first; vmid <= VMID_MAX; vmid++) yield vmid;
}

function noneLeft(context: ActionContext, vmids: readonly number[]): ProxwrightError {
  return new ProxwrightError({
    code: 'VMID_TAKEN',
    detail:
      vmids.length === 1
        ? `The one id of its range, ${vmids[0]}, is not free for ${context.address}.`
        : `None of the ${vmids.length} ids from ${Math.min(...vmids)} to ${Math.max(...vmids)} is free for ${context.address}.`,
    where: { address: context.address },
    hint: 'Widen vmids, or remove VMs that are no longer needed.',
  });
}
