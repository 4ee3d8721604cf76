/**
 * Settles a step on a file of an interrupted run: waits for the task it had started and finds out how it ended. Starts
 * nothing, so calling it twice, or from two runs, does no harm.
 */
import { hasCode, isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { isUpid, parseUpid, type Upid } from '../../../pve/index.ts';
import type { OpenAct } from '../../action.ts';
import { follow } from '../../vm/actions/tasks.ts';
import { type FileContext, type FilePlace, keyOf } from '../steps.ts';
import { lookFor, recordFile, runningDownloads, runningImports } from './look.ts';

/** A request can outlive the run that sent it: Proxmox's proxy gives its daemon this long to accept it. */
const ON_ITS_WAY_MS = 30_000;

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
  const endedWell = isUpid(step.upid)
    ? await waitForEnd(context, step.upid)
    : await waitForRunning(context, step, intent);
  const entry = await lookFor(context, intent);
  const recorded = context.file(keyOf(intent));
  if (!entry) {
    if (recorded) await context.learnFile(keyOf(intent), null);
    return { outcome: 'nothing' };
  }
  if (!recorded?.incomplete || !endedWell) return { outcome: 'ended' };
  const isWhole = intent.sizeBytes === undefined || intent.sizeBytes === entry.size;
  if (isWhole) await recordFile(context, intent, entry, recorded);
  return { outcome: isWhole ? 'made' : 'ended' };
}

/** The task id never reached the journal: the node's task list shows whether the task started. */
async function waitForRunning(context: FileContext, step: OpenAct, intent: Intent): Promise<boolean> {
  const running = () =>
    step.action === 'image.send' ? runningImports(context, intent) : runningDownloads(context, intent);
  let upids = await running();
  const onItsWayMs = intent.sentAt + ON_ITS_WAY_MS - context.clock.now();
  // A download or removal shows only when it ends; until then the request may not have been executed.
  const isDone = upids.length > 0 || ((await lookFor(context, intent)) !== undefined) !== intent.erase;
  if (!isDone && onItsWayMs > 0) {
    context.progress('waiting for a request of the earlier run that may still arrive');
    await context.clock.sleep(onItsWayMs, context.signal);
    upids = await running();
  }
  let endedWell = false;
  for (const upid of upids) endedWell = await waitForEnd(context, upid);
  return endedWell;
}

/** True if it succeeded. Only a task that has not ended is an error. */
async function waitForEnd(context: FileContext, upid: Upid): Promise<boolean> {
  try {
    await follow(context, upid, {
      what: 'the task of an earlier run',
      timeoutMs: context.timeouts.imageMs,
      withProgress: true,
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
  /** Of the file to upload. */
  readonly sizeBytes: number | undefined;
  /** The step removes the file. */
  readonly erase: boolean;
}

/** The intent that the actions journal. */
function intentOf(intent: unknown): Intent | undefined {
  if (typeof intent !== 'object' || intent === null) return undefined;
  const { node, storage, content, file, sentAt, sizeBytes, erase } = intent as Readonly<Record<string, unknown>>; // checked below
  if (typeof node !== 'string' || typeof storage !== 'string' || typeof file !== 'string') return undefined;
  if ((content !== 'import' && content !== 'iso') || typeof sentAt !== 'number') return undefined;
  return {
    node,
    storage,
    content,
    file,
    sentAt,
    sizeBytes: typeof sizeBytes === 'number' ? sizeBytes : undefined,
    erase: erase === true,
  };
}
