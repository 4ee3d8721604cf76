/**
 * Taking up a step that a dead run began: waits for what it had started and finds out what came of it. Never starts
 * anything but the removal of what a VM left behind, so that calling it twice, or from two runs, does no harm.
 */
import type { Instant } from '../../../base/clock.ts';
import { hasCode, isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { isUpid, type Upid } from '../../../pve/index.ts';
import type { ActionContext, OpenAct, Settled } from '../../action.ts';
import { lookIfThere } from './look.ts';
import { rememberMade } from './make.ts';
import { settledOccupant } from './occupant.ts';
import { isRunning } from './power.ts';
import { removeAllSeeds } from './seed.ts';
import { follow, runningTasks } from './tasks.ts';

/** A request outlives the run that sent it: the server's proxy gives its daemon this long to take it up. */
const ON_ITS_WAY_MS = 30_000;

/** Of a step that made a VM. */
export async function settleMaking(context: ActionContext, open: OpenAct): Promise<Settled> {
  return orLeftLocked(context, async () => {
    if (isUpid(open.upid)) await waitForEnd(context, open.upid);
    return settleCreation(context, open.upid === undefined ? sentAtOf(open.intent) : undefined);
  });
}

/** Of a step that changed a VM which was there before. */
export async function settleChange(context: ActionContext, open: OpenAct): Promise<Settled> {
  return orLeftLocked(context, async () => {
    if (isUpid(open.upid)) await waitForEnd(context, open.upid);
    if (context.memory()?.uuid === undefined) return nothingLeft(context);
    await waitForOwnTasks(context);
    const vm = await lookIfThere(context);
    if (!vm) {
      await removeAllSeeds(context);
      await context.forget();
      return { outcome: 'gone' };
    }
    // Nothing is started here: another client may have changed it since it was compared, and its power is not recorded yet.
    const isHalfRestarted =
      open.action === 'vm.restart' && open.intent !== undefined && !(await isRunning(context, vm));
    return { outcome: isHalfRestarted ? 'interrupted' : 'ended' };
  });
}

/** What only root can mend stops this VM, whose own step says so again, and not its siblings. */
async function orLeftLocked(context: ActionContext, settle: () => Promise<Settled>): Promise<Settled> {
  try {
    return await settle();
  } catch (error) {
    if (!isFamily(error, 'busy') || error.code !== 'GUEST_LOCKED') throw error;
    context.log.log('warn', `${context.address}: ${error.diagnostic.detail} ${error.diagnostic.hint?.text ?? ''}`);
    return { outcome: 'locked' };
  }
}

async function nothingLeft(context: ActionContext): Promise<Settled> {
  await context.forget();
  return { outcome: 'nothing' };
}

/**
 * Of a VM that was about to be made, whether or not the step that did it is still open: the memory of it holds all that
 * is needed, because it was written before the request.
 */
export async function settleCreation(context: ActionContext, sentAt?: Instant): Promise<Settled> {
  const memory = context.memory();
  if (memory?.uuid !== undefined) {
    if (memory.phase === 'creating') await context.learn({ phase: 'incomplete' });
    return { outcome: 'made' };
  }
  // It died before it had said what it was about to do, and so before it did anything.
  if (memory?.nonce === undefined) return nothingLeft(context);
  const making = { node: memory.node, vmid: memory.vmid, nonce: memory.nonce };
  let occupant = await settledOccupant(context, making);
  const onItsWayMs = sentAt === undefined ? 0 : sentAt + ON_ITS_WAY_MS - context.clock.now();
  if (occupant.kind === 'nobody' && onItsWayMs > 0) {
    context.progress('waiting for a request of the earlier run that may be on its way');
    await context.clock.sleep(onItsWayMs, context.signal);
    occupant = await settledOccupant(context, making);
  }
  if (occupant.kind !== 'ours') return nothingLeft(context);
  await rememberMade(context, occupant.vm);
  return { outcome: 'made' };
}

/** As `makeVm` writes it down. */
function sentAtOf(intent: unknown): Instant | undefined {
  const sentAt = typeof intent === 'object' && intent !== null && 'sentAt' in intent ? intent.sentAt : undefined;
  return typeof sentAt === 'number' ? sentAt : undefined;
}

/** A request may have been sent without its task's name reaching the journal. */
async function waitForOwnTasks(context: ActionContext): Promise<void> {
  const memory = context.memory();
  if (!memory) return;
  const upids = await runningTasks(context, { node: memory.node, id: memory.vmid });
  for (const upid of upids) await waitForEnd(context, upid);
}

/** How it ended shows at the VM; that it has not ended is the one thing that stops us. */
async function waitForEnd(context: ActionContext, upid: Upid): Promise<void> {
  // Of all acts a clone may take longest.
  const timeoutMs = context.timeouts.cloneMs;
  try {
    await follow(context, upid, { what: 'the task of an earlier run', timeoutMs, withProgress: true });
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    if (hasCode(error, 'TASK_TIMEOUT')) throw error;
    context.log.log('debug', `${context.address}: it had failed: ${error.code}`, { upid });
  }
}
