/**
 * Settles a step of an interrupted run: waits for the task it had started and finds out how it ended. Starts nothing but
 * the removal of files that a VM left behind, so calling it twice, or from two runs, does no harm.
 */

import { hasCode, isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { upTo } from '../../../base/values/units.ts';
import { isUpid, type Upid } from '../../../pve/index.ts';
import type { OpenAct, Settled } from '../../action.ts';
import { follow, onItsWayMs, runningTasks } from '../../safety/tasks.ts';
import type { VmObserved } from '../observed.ts';
import type { VmContext } from './context.ts';
import { removeAllSeeds } from './disks/seed.ts';
import { recordMade } from './life/make.ts';
import { isRunning } from './power.ts';
import { lookIfThere } from './safety/look.ts';
import { settledOccupant } from './safety/occupant.ts';

/** For a step that created a VM. */
export async function settleMaking(context: VmContext, open: OpenAct): Promise<Settled> {
  return orLeftLocked(context, async () => {
    if (isUpid(open.upid)) await waitForEnd(context, open.upid);
    return settleCreation(context, open.upid === undefined && countsWhenever(open));
  });
}

/** For a step that changed an existing VM. */
export async function settleChange(context: VmContext, open: OpenAct): Promise<Settled> {
  return orLeftLocked(context, async () => {
    // A move may take longer than any other task.
    const { cloneMs, diskMoveMs } = context.timeouts;
    const timeoutMs = open.action === 'vm.move-disk' ? diskMoveMs : cloneMs;
    if (isUpid(open.upid)) await waitForEnd(context, open.upid, timeoutMs);
    if (context.recorded()?.uuid === undefined) return nothingLeft(context);
    const vm = await afterLastRequest(context, open, timeoutMs);
    if (!vm) {
      await removeAllSeeds(context);
      await context.forget();
      return { outcome: 'gone' };
    }
    // Do not start it here: another client may have changed it since it was compared, and its power is not recorded yet.
    const isHalfRestarted =
      open.action === 'vm.restart' && open.intent !== undefined && !(await isRunning(context, vm));
    return { outcome: isHalfRestarted ? 'interrupted' : 'ended' };
  });
}

/** For a step that hands a disk from one VM to another. The next plan reads which of them has it. */
export async function settleHandOver(context: VmContext, open: OpenAct): Promise<Settled> {
  return orLeftLocked(context, async () => {
    if (isUpid(open.upid)) await waitForEnd(context, open.upid);
    const { task, node } = (open.intent ?? {}) as { readonly task?: string; readonly node?: string }; // as the step wrote it
    if (open.upid !== undefined || task === undefined || node === undefined) return { outcome: 'ended' };
    const ended = () => waitForTasks(context, { node, id: task, type: 'qmmove' }, context.timeouts.cloneMs);
    const waitMs = (await ended()) > 0 || !countsWhenever(open) ? 0 : onItsWayMs(context);
    if (waitMs > 0) {
      context.progress(upTo('waiting for a request of the earlier run that may still arrive', waitMs));
      await context.clock.sleep(waitMs, context.signal);
      await ended();
    }
    return { outcome: 'ended' };
  });
}

/**
 * The VM once no request of the dead run can arrive any more: a DELETE or a stop that is still on its way would hit whatever
 * the next steps make of this id. One that carries a digest needs no wait; Proxmox refuses it after the next change.
 */
async function afterLastRequest(context: VmContext, open: OpenAct, timeoutMs: number): Promise<VmObserved | undefined> {
  const found = await waitForOwnTasks(context, timeoutMs);
  const vm = await lookIfThere(context);
  const mayBeOnItsWay = vm && open.upid === undefined && found === 0 && countsWhenever(open);
  const waitMs = mayBeOnItsWay ? onItsWayMs(context) : 0;
  if (waitMs === 0) return vm;
  context.progress(upTo('waiting for a request of the earlier run that may still arrive', waitMs));
  await context.clock.sleep(waitMs, context.signal);
  await waitForOwnTasks(context, timeoutMs);
  return lookIfThere(context);
}

/** A lock that only root can remove stops this VM, whose next step reports it again, but not other VMs. */
async function orLeftLocked(context: VmContext, settle: () => Promise<Settled>): Promise<Settled> {
  try {
    return await settle();
  } catch (error) {
    if (!hasCode(error, 'GUEST_LOCKED', 'STALE_LOCK')) throw error;
    context.log.log('warn', `${context.address}: ${error.diagnostic.detail} ${error.diagnostic.hint?.text ?? ''}`);
    return { outcome: 'locked' };
  }
}

async function nothingLeft(context: VmContext): Promise<Settled> {
  await context.forget();
  return { outcome: 'nothing' };
}

/**
 * For a VM that a run was creating, whether or not its step is still open: the record was written before the request
 * and holds everything needed.
 */
export async function settleCreation(context: VmContext, mayBeOnItsWay = false): Promise<Settled> {
  const recorded = context.recorded();
  if (recorded?.uuid !== undefined) {
    if (recorded.phase === 'creating') await context.learn({ phase: 'incomplete' });
    return { outcome: 'made' };
  }
  // The run was interrupted before it journaled its intent, so it sent nothing.
  if (recorded?.nonce === undefined) return nothingLeft(context);
  const making = { node: recorded.node, vmid: recorded.vmid, nonce: recorded.nonce };
  let occupant = await settledOccupant(context, making);
  const waitMs = mayBeOnItsWay ? onItsWayMs(context) : 0;
  if (occupant.kind === 'free' && waitMs > 0) {
    context.progress(upTo('waiting for a request of the earlier run that may still arrive', waitMs));
    await context.clock.sleep(waitMs, context.signal);
    occupant = await settledOccupant(context, making);
  }
  if (occupant.kind !== 'ours') return nothingLeft(context);
  await recordMade(context, occupant.vm);
  return { outcome: 'made' };
}

/** Proxmox would carry out its request whenever it arrives: only the intents of such requests say when they were sent. */
function countsWhenever({ intent }: OpenAct): boolean {
  return typeof intent === 'object' && intent !== null && 'sentAt' in intent;
}

/** A request may have been sent before its task id reached the journal. Returns how many tasks there were. */
async function waitForOwnTasks(context: VmContext, timeoutMs: number): Promise<number> {
  const recorded = context.recorded();
  return recorded ? waitForTasks(context, { node: recorded.node, id: recorded.vmid }, timeoutMs) : 0;
}

async function waitForTasks(
  context: VmContext,
  filter: Parameters<typeof runningTasks>[1],
  timeoutMs: number,
): Promise<number> {
  const upids = await runningTasks(context, filter);
  for (const upid of upids) await waitForEnd(context, upid, timeoutMs);
  return upids.length;
}

/** The VM shows how it ended; only a task that has not ended is an error. */
async function waitForEnd(context: VmContext, upid: Upid, timeoutMs = context.timeouts.cloneMs): Promise<void> {
  try {
    await follow(context, upid, { what: 'the task of an earlier run', timeoutMs, withProgress: true });
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    if (hasCode(error, 'TASK_TIMEOUT')) throw error;
    context.log.log('debug', `${context.address}: the earlier task failed: ${error.code}`, { upid });
  }
}
