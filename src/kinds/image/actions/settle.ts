/**
 * Taking up a step on a file that a dead run began: waits for what it had started and finds out what came of it. Never
 * starts anything, so that calling it twice, or from two runs, does no harm.
 */
import { hasCode, isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { isUpid, parseUpid, type Upid } from '../../../pve/index.ts';
import type { OpenAct } from '../../action.ts';
import { follow } from '../../vm/actions/tasks.ts';
import { type FileContext, type FilePlace, keyOf } from '../steps.ts';
import { lookFor, recordFile, runningDownloads, runningImports } from './look.ts';

/** A request outlives the run that sent it: the server's proxy gives its daemon this long to take it up. */
const ON_ITS_WAY_MS = 30_000;

interface SettledFile {
  /**
   * `made`: the file is there, whole, and remembered. `nothing`: it is not there, and not remembered any more. `ended`:
   * whatever was begun is over; a new plan sees what is left to do.
   */
  readonly outcome: 'made' | 'nothing' | 'ended';
}

export async function settleFile(context: FileContext, step: OpenAct): Promise<SettledFile> {
  const intent = intentOf(step.intent);
  // It died before it had said what it was about to do, and so before it did anything.
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

/** The name of the task never reached the journal: whether it ever began, the node's list tells. */
async function waitForRunning(context: FileContext, step: OpenAct, intent: Intent): Promise<boolean> {
  const running = () =>
    step.action === 'image.send' ? runningImports(context, intent) : runningDownloads(context, intent);
  let upids = await running();
  const onItsWayMs = intent.sentAt + ON_ITS_WAY_MS - context.clock.now();
  // A download shows when it ends, a removal too; until then the request may not even have begun.
  const isDone = upids.length > 0 || ((await lookFor(context, intent)) !== undefined) !== intent.erase;
  if (!isDone && onItsWayMs > 0) {
    context.progress('waiting for a request of the earlier run that may be on its way');
    await context.clock.sleep(onItsWayMs, context.signal);
    upids = await running();
  }
  let endedWell = false;
  for (const upid of upids) endedWell = await waitForEnd(context, upid);
  return endedWell;
}

/** True when it ended well. That it has not ended is the one thing that stops us. */
async function waitForEnd(context: FileContext, upid: Upid): Promise<boolean> {
  try {
    await follow(context, upid, {
      what: 'the task of an earlier run',
      timeoutMs: context.timeouts.imageMs,
      withProgress: true,
    });
    // What a removal leaves is nothing to be remembered.
    return parseUpid(upid)?.type !== 'imgdel';
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    if (hasCode(error, 'TASK_TIMEOUT')) throw error;
    context.log.log('debug', `${context.address}: it had failed: ${error.code}`, { upid });
    return false;
  }
}

interface Intent extends FilePlace {
  readonly sentAt: number;
  /** Of what was to be sent. */
  readonly sizeBytes: number | undefined;
  /** The file was to go. */
  readonly erase: boolean;
}

/** As the actions write it down. */
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
