/**
 * `vm.take-from`, `vm.forget` and `vm.reserve`: change what is recorded of a VM before anything happens on the server.
 * Each is a step like any other, so the plan shows it and the journal records it.
 */

import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { VMID_MAX, VMID_MIN } from '../../../../pve/index.ts';
import { patiently } from '../../../safety/rounds.ts';
import { movedRecords } from '../../plan/moves.ts';
import type { IdChoice, ReserveInput, TakeFromInput } from '../../steps.ts';
import type { VmAction, VmContext } from '../context.ts';
import { removeAllSeeds } from '../disks/seed.ts';
import { idTaken, isFree } from '../safety/occupant.ts';

/** The VM keeps its identity under a new address, because its group was renamed. */
export const takeFrom: VmAction<TakeFromInput> = async (context, { from }) => {
  for (const [before, after] of movedRecords(from, context.address)) {
    if (context.recordedOf(before) !== undefined) await context.moveRecord(before, after);
  }
};

/** The VM was removed outside Proxwright; its record must not pass for that of the new VM. */
export const forgetVm: VmAction<object> = async (context) => {
  await removeAllSeeds(context);
  await context.forget();
};

/** Chooses and records an id before anything is sent. A request of an earlier run that may still arrive keeps its id. */
export const reserveId: VmAction<ReserveInput> = async (context, { node, name, given, ...ids }) => {
  const recorded = context.recorded();
  if (recorded?.uuid !== undefined || recorded?.nonce !== undefined) return;
  const vmid = await patiently(context, () => chooseId(context, ids));
  await context.learn({ vmid, node, name, phase: 'creating', ...(given && { given }) });
};

/** The requested id, the one that the plan chose, or the lowest free one of this run. Proxmox can still refuse it. */
export async function chooseId(context: VmContext, desired: IdChoice): Promise<number> {
  const { ids, address } = context;
  if (desired.vmid !== undefined) {
    if (ids.reserve(desired.vmid, address)) return desired.vmid;
    throw idTaken(context, desired.vmid, ids.holderOf(desired.vmid));
  }
  const { planned } = desired;
  // The plan asked whether it is free. If another client has taken it since, Proxmox refuses the request.
  if (planned !== undefined && ids.reserve(planned, address)) return planned;
  const chosen = await firstFree(context, desired);
  if (planned !== undefined) await context.warn(otherId(context, planned, chosen));
  return chosen;
}

async function firstFree(context: VmContext, desired: IdChoice): Promise<number> {
  const { ids, address } = context;
  const offered = desired.vmids ? undefined : await context.pve.cluster.nextid({ signal: context.signal });
  for (const vmid of desired.vmids ?? upwardFrom(offered ?? VMID_MIN)) {
    // Reserve before asking, because other VMs choose at the same time.
    if (!ids.reserve(vmid, address)) continue;
    if (vmid === offered || (await isFree(context, vmid))) return vmid;
    ids.markTaken(vmid);
  }
  throw noneLeft(context, desired.vmids ?? []);
}

function* upwardFrom(first: number): Generator<number> {
  for (let vmid = first; vmid <= VMID_MAX; vmid++) yield vmid;
}

function otherId({ address }: VmContext, planned: number, chosen: number): Diagnostic {
  return {
    severity: 'warning',
    code: 'VMID_TAKEN',
    summary: 'VM id taken',
    detail: `${address} gets the id ${chosen}: another guest has taken ${planned}, which the plan had chosen.`,
    where: { address },
  };
}

function noneLeft(context: VmContext, vmids: readonly number[]): ProxwrightError {
  return new ProxwrightError({
    code: 'VMID_TAKEN',
    detail:
      vmids.length === 1
        ? `${vmids[0]}, the only id of its range, is not free for ${context.address}.`
        : `None of the ${vmids.length} ids from ${Math.min(...vmids)} to ${Math.max(...vmids)} is free for ${context.address}.`,
    where: { address: context.address },
    hint: 'Widen vmids, or remove VMs that you no longer need.',
  });
}
