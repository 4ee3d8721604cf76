/**
 * Finds out who holds the id that a new VM will get, or may have already. This resolves every doubt about a creation:
 * nothing is sent for the id until our own task on it has ended, and a VM counts as ours only by the nonce in its
 * notes.
 */
import { kindOf } from '../../../../base/address.ts';
import { hasCode, isCanceled, ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import type { Upid } from '../../../../pve/index.ts';
import { follow, runningTasks } from '../../../safety/tasks.ts';
import { cloneTarget, type LockedVm } from '../../lock.ts';
import { isHalfMade, type VmObserved } from '../../observed.ts';
import { findOwnership } from '../../ownership.ts';
import type { VmContext } from '../context.ts';
import { LockWatch } from './locked.ts';
import { findVm } from './look.ts';

/** A VM that is about to be created, or was when a run was interrupted. */
export interface Making {
  /** Node that runs the task. */
  readonly node: string;
  readonly vmid: number;
  readonly nonce: string;
}

export type Occupant =
  | { readonly kind: 'free' }
  | { readonly kind: 'ours'; readonly vm: VmObserved }
  /** A clone or create task still locks the configuration, so its owner is not known yet. */
  | { readonly kind: 'unfinished'; readonly vm: LockedVm }
  | { readonly kind: 'stranger'; readonly name: string | undefined; readonly isHalfMade?: boolean };

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

/**
 * Waits until no task of ours works on the id, then says who holds it. Never starts anything. `isCertain` means that the
 * outcome of every request of ours is known, so a VM in creation without a task of ours belongs to another client.
 */
export async function settledOccupant(
  context: VmContext,
  making: Making,
  options: { readonly isCertain?: boolean } = {},
): Promise<Occupant> {
  const deadline = context.clock.ticks() + context.timeouts.lockMs;
  const watch = new LockWatch(context);
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
    const tasks = await tasksFor(context, making);
    for (const upid of tasks.ours) await waitForEnd(context, upid);
    const occupant = await occupantOf(context, making);
    if (occupant.kind !== 'unfinished' && !tasks.isUndecided) return occupant;
    if (occupant.kind === 'unfinished' && options.isCertain && !tasks.isUndecided && tasks.ours.length === 0) {
      return { kind: 'stranger', name: undefined, isHalfMade: true };
    }
    if (occupant.kind === 'unfinished' && tasks.ours.length === 0) {
      await watch.refuseStale(occupant.vm, { isOwnTask: true });
    }
    if (context.clock.ticks() + pauseMs > deadline) {
      if (occupant.kind === 'unfinished') throw watch.stillLocked(occupant.vm);
      return occupant;
    }
    await context.clock.sleep(pauseMs, context.signal);
  }
}

export async function occupantOf(context: VmContext, making: Making): Promise<Occupant> {
  const { vmid, nonce } = making;
  // Our request may arrive between the two reads: only a VM that is invisible before and after belongs to another client.
  const early = await visibleVm(context, making);
  if (!early && (await isFree(context, vmid))) return { kind: 'free' };
  const vm = early ?? (await visibleVm(context, making));
  if (!vm) return { kind: 'stranger', name: undefined };
  const { node, lock } = vm;
  if (lock !== undefined && isHalfMade(vm)) return { kind: 'unfinished', vm: { vmid, node, lock } };
  const isOurs = findOwnership(vm.current.get('description') ?? '')?.nonce === nonce;
  return isOurs ? { kind: 'ours', vm } : { kind: 'stranger', name: vm.current.get('name') };
}

export function idTaken(
  context: VmContext,
  vmid: number,
  holder: string | undefined,
  cause?: unknown,
  isImportable = true,
): ProxwrightError {
  return new ProxwrightError({
    code: 'VMID_TAKEN',
    detail: `The id ${vmid} for ${context.address} already belongs to ${holder ?? 'another guest'}. Nothing was created.`,
    where: { address: context.address },
    hint:
      kindOf(context.address) === 'vm' && isImportable
        ? advice`Give another vmid, or a range: ${setting('vmids', '101-120')}. To take over an existing VM: ${command('import', context.address, 'ID')}`
        : advice`Give another vmid, or a range: ${setting('vmids', '9000-9010')}.`,
    ...(cause !== undefined && { cause }),
  });
}

/** Our running tasks that create this id; `isUndecided` while one of them has not logged its id yet. */
async function tasksFor(context: VmContext, making: Making): Promise<{ ours: Upid[]; isUndecided: boolean }> {
  const { node, vmid } = making;
  const ours = await runningTasks(context, { node, type: 'qmcreate', id: vmid });
  let isUndecided = false;
  for (const upid of await runningTasks(context, { node, type: 'qmclone' })) {
    const { target, hasEnded } = await cloneTarget(context, node, upid);
    if (target === vmid) ours.push(upid);
    else if (target === undefined && !hasEnded) isUndecided = true;
  }
  return { ours, isUndecided };
}

/** Only the end of the task matters here; reading the id shows the result. */
async function waitForEnd(context: VmContext, upid: Upid): Promise<void> {
  const { cloneMs } = context.timeouts;
  try {
    await follow(context, upid, { what: 'a creation under way', timeoutMs: cloneMs, withProgress: true });
  } catch (error) {
    if (isCanceled(error)) throw error;
    if (hasCode(error, 'TASK_TIMEOUT')) throw error;
    context.log.log('debug', `${context.address}: it failed`, { upid });
  }
}

/** Without a privilege on the id, Proxmox gives the same answer whether the VM exists or not. */
async function visibleVm(context: VmContext, making: Making): Promise<VmObserved | undefined> {
  try {
    return await findVm(context, making.node, making.vmid);
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return undefined;
    throw error;
  }
}

/** Also counts containers, and guests that the token may not see. */
export async function isFree(context: VmContext, vmid: number): Promise<boolean> {
  try {
    await context.pve.cluster.assertFree(vmid, { signal: context.signal });
    return true;
  } catch (error) {
    if (hasCode(error, 'VMID_TAKEN')) return false;
    throw error;
  }
}
