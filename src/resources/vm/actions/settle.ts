/**
 * Taking up a step that a dead run began: waits for what it had started and finds out what came of it. Never starts
 * anything but the removal of what a VM left behind, so that calling it twice, or from two runs, does no harm.
 */
import type { Instant } from '../../../base/clock.ts';
import { hasCode, isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { isUpid, type Upid } from '../../../pve/index.ts';
import type { ActionContext } from '../../action.ts';
import { lookIfThere } from './look.ts';
import { rememberMade } from './make.ts';
import { settledOccupant } from './occupant.ts';
import { isRunning } from './power.ts';
import { removeAllSeeds } from './seed.ts';
import { follow, runningTasks } from './tasks.ts';

/** A request outlives the run that sent it: the server's proxy gives its daemon this long to take it up. */
const ON_ITS_WAY_MS = 30_000;

/** As the journal has it. */
export interface OpenVmStep {
  readonly action: string;
  readonly intent: unknown;
  readonly upid: string | undefined;
}

export type Settled =
  /** The VM exists and is ours; the memory of it is complete. */
  | { readonly outcome: 'made' }
  /** Nothing stands under the id that was meant: the VM is to be forgotten. */
  | { readonly outcome: 'nothing' }
  /** The VM is gone: it is to be forgotten. */
  | { readonly outcome: 'gone' }
  /** Whatever was begun has ended; a new plan sees what is left to do. */
  | { readonly outcome: 'ended' }
  /** A restart broken off between off and on; a new plan reads it back, compares it and switches it on. */
  | { readonly outcome: 'interrupted' };

export async function settleOpenStep(context: ActionContext, step: OpenVmStep): Promise<Settled> {
  context.log.log('debug', `${context.address}: taking up ${step.action} of an earlier run`, {
    upid: step.upid ?? null,
  });
  if (isUpid(step.upid)) await waitForEnd(context, step.upid);
  if (step.action === 'vm.clone' || step.action === 'vm.create') {
    return settleCreation(context, step.upid === undefined ? sentAtOf(step.intent) : undefined);
  }
  if (context.memory()?.uuid === undefined) return { outcome: 'nothing' };
  return settleChange(context, step);
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
  if (memory?.nonce === undefined) return { outcome: 'nothing' };
  const making = { node: memory.node, vmid: memory.vmid, nonce: memory.nonce };
  let occupant = await settledOccupant(context, making);
  const onItsWayMs = sentAt === undefined ? 0 : sentAt + ON_ITS_WAY_MS - context.clock.now();
  if (occupant.kind === 'nobody' && onItsWayMs > 0) {
    context.progress('waiting for a request of the earlier run that may be on its way');
    await context.clock.sleep(onItsWayMs, context.signal);
    occupant = await settledOccupant(context, making);
  }
  if (occupant.kind !== 'ours') return { outcome: 'nothing' };
  await rememberMade(context, occupant.vm);
  return { outcome: 'made' };
}

/** As `makeVm` writes it down. */
function sentAtOf(intent: unknown): Instant | undefined {
  const sentAt = typeof intent === 'object' && intent !== null && 'sentAt' in intent ? intent.sentAt : undefined;
  return typeof sentAt === 'number' ? sentAt : undefined;
}

async function settleChange(context: ActionContext, step: OpenVmStep): Promise<Settled> {
  await waitForOwnTasks(context);
  const vm = await lookIfThere(context);
  if (!vm) {
    await removeAllSeeds(context);
    return { outcome: 'gone' };
  }
  // Nothing is started here: somebody may have changed it since it was compared, and its power is not remembered yet.
  const isHalfRestarted = step.action === 'vm.restart' && step.intent !== undefined && !(await isRunning(context, vm));
  return { outcome: isHalfRestarted ? 'interrupted' : 'ended' };
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
