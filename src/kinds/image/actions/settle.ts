/**
 * Settles a step on a file of an interrupted run: waits for the task it had started and finds out how it ended. Starts
 * nothing, so calling it twice, or from two runs, does no harm.
 */

import { hasCode, isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { upTo } from '../../../base/values/units.ts';
import { isUpid, parseUpid } from '../../../pve/index.ts';
import type { OpenAct } from '../../action.ts';
import { follow, onItsWayMs } from '../../safety/tasks.ts';
import { type FileContext, type FilePlace, keyOf } from '../steps.ts';
import { downloadsTo, endOfTransfers, importsTo, lookFor, recordFile, type Transfer } from './look.ts';

interface SettledFile {
  /**
   * `made`: the file is complete and recorded. `nothing`: neither the file nor its record exists. `ended`: no task is
   * running any more; a new plan shows what is left to do.
   */
  readonly outcome: 'made' | 'nothing' | 'ended';
}

export async function settleFile(context: FileContext, step: OpenAct): Promise<SettledFile> {
  const intent = intentOf(step.intent);
  // The run was interrupted before it journaled its intent, so it sent nothing.
  if (!intent) return { outcome: 'nothing' };
  const ours = isUpid(step.upid)
    ? { isBegun: true, endedWell: await waitForEnd(context, { upid: step.upid, isOurs: true }) }
    : await settleTransfers(context, step, intent);
  const entry = await lookFor(context, intent);
  const recorded = context.file(keyOf(intent));
  if (!entry) {
    if (recorded) await context.learnFile(keyOf(intent), null);
    return { outcome: 'nothing' };
  }
  if (recorded?.incomplete && !ours.isBegun) {
    // The name was free when the run began, but no task of ours made the file: it belongs to another client.
    await context.learnFile(keyOf(intent), null);
    return { outcome: 'ended' };
  }
  if (!recorded?.incomplete || !ours.endedWell) return { outcome: 'ended' };
  const isWhole = intent.sizeBytes === undefined || intent.sizeBytes === entry.size;
  if (isWhole) await recordFile(context, intent, entry, recorded);
  return { outcome: isWhole ? 'made' : 'ended' };
}

interface OwnTransfer {
  /** A task of ours was started. */
  readonly isBegun: boolean;
  readonly endedWell: boolean;
}

/** The task id never reached the journal: the node's task list shows whether the task started. */
async function settleTransfers(context: FileContext, step: OpenAct, intent: Intent): Promise<OwnTransfer> {
  const list = () =>
    step.action === 'image.send'
      ? importsTo(context, intent, intent.wholeAt)
      : downloadsTo(context, intent, intent.sentAt);
  let transfers = await list();
  const waitMs = onItsWayMs(context);
  // A download or removal shows only when it ends; until then the request may not have been executed.
  const isBegun = transfers.some(({ isOurs }) => isOurs);
  const isDone = isBegun || ((await lookFor(context, intent)) !== undefined) !== intent.erase;
  if (!isDone && waitMs > 0) {
    context.progress(upTo('waiting for a request of the earlier run that may still arrive', waitMs));
    await context.clock.sleep(waitMs, context.signal);
    transfers = await list();
  }
  const endedWell = await endOfTransfers(transfers, (transfer) => waitForEnd(context, transfer));
  return { isBegun: transfers.some(({ isOurs }) => isOurs), endedWell };
}

/** True if it succeeded. Only a task that has not ended is an error. */
async function waitForEnd(context: FileContext, { upid, isOurs }: Pick<Transfer, 'upid' | 'isOurs'>): Promise<boolean> {
  try {
    await follow(context, upid, {
      what: 'the task of an earlier run',
      timeoutMs: context.timeouts.imageMs,
      withProgress: true,
      isOurs,
    });
    // A removal leaves no file to record.
    return parseUpid(upid)?.type !== 'imgdel';
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    if (hasCode(error, 'TASK_TIMEOUT')) throw error;
    context.log.log('debug', `${context.address}: the earlier task failed: ${error.code}`, { upid });
    return false;
  }
}

interface Intent extends FilePlace {
  readonly sentAt: number;
  /** When the last bytes of an upload were handed over; undefined before, and in journals of version 0.1.0. */
  readonly wholeAt: number | undefined;
  /** Of the file to upload. */
  readonly sizeBytes: number | undefined;
  /** The step removes the file. */
  readonly erase: boolean;
}

/** The intent that the actions journal. */
function intentOf(intent: unknown): Intent | undefined {
  if (typeof intent !== 'object' || intent === null) return undefined;
  const { node, storage, content, file, sentAt, wholeAt, sizeBytes, erase } = intent as Readonly<
    Record<string, unknown>
  >; // checked below
  if (typeof node !== 'string' || typeof storage !== 'string' || typeof file !== 'string') return undefined;
  if ((content !== 'import' && content !== 'iso') || typeof sentAt !== 'number') return undefined;
  return {
    node,
    storage,
    content,
    file,
    sentAt,
    wholeAt: typeof wholeAt === 'number' ? wholeAt : undefined,
    sizeBytes: typeof sizeBytes === 'number' ? sizeBytes : undefined,
    erase: erase === true,
  };
}
