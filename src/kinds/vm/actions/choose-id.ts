/** Choosing the id of a new VM: the one that was asked for, or the lowest free one that nobody else of this run has. */
import { ProxwrightError } from '../../../base/errors.ts';
import { VMID_MAX, VMID_MIN } from '../../../pve/index.ts';
import type { ActionContext } from '../../action.ts';
import { idTaken, isFree } from './occupant.ts';

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
