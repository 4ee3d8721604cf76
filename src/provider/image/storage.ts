/** What lies in a storage under the name of an image, and what earlier processes of this token did to it. */
import { hasCode, isCanceled, ProxwrightError } from '../../base/errors.ts';
import { type FilePlace, volidOf } from '../../kinds/image/steps.ts';
import { type Pve, parseUpid, type TaskEntry, type VolumeEntry } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';

export async function findFile(
  pve: Pve,
  place: FilePlace,
  signal: AbortSignal | undefined,
): Promise<VolumeEntry | undefined> {
  const { node, storage, content } = place;
  const entries = await pve.node(node).storage(storage).content.list({ content }, { signal });
  return entries.find(({ volid }) => volid === volidOf(place));
}

/** A task of this token that made the file; where it came from, if its log tells. */
export interface Trace {
  readonly url: string | undefined;
}

/**
 * A process that dies leaves its download or copy running: it is waited for, so that nothing is begun beside it. What ended
 * well has made the file that is there now.
 */
export async function settleEarlier(surroundings: Surroundings, place: FilePlace): Promise<Trace | undefined> {
  const { work, log, rollout, signal } = surroundings;
  let trace: Trace | undefined;
  for (const task of await tasksFor(surroundings, place, 'active')) {
    const { upid, status } = task;
    if ((status ?? 'RUNNING') !== 'RUNNING') continue;
    log.log('info', 'Waiting for a task that an earlier run began.', { upid });
    try {
      await work.tasks.wait(upid, { timeoutMs: rollout.timeouts.imageMs, signal });
      trace ??= await traceIn(surroundings, task);
    } catch (error) {
      if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
      if (hasCode(error, 'TASK_TIMEOUT')) throw error;
      log.log('debug', 'It had failed.', { upid, code: error.code });
    }
  }
  return trace;
}

/** The end of a task and the time of what it made lie this close together. */
const SAME_MOMENT_SECONDS = 10;

/** Undefined where somebody else brought the file, or nobody can tell. */
export async function traceOf(
  surroundings: Surroundings,
  place: FilePlace,
  { ctime }: Pick<VolumeEntry, 'ctime'>,
): Promise<Trace | undefined> {
  if (ctime === undefined) return undefined;
  const made = (await tasksFor(surroundings, place, 'all')).find(
    ({ status, endtime }) => status === 'OK' && Math.abs((endtime ?? 0) - ctime) <= SAME_MOMENT_SECONDS,
  );
  return made && traceIn(surroundings, made);
}

async function traceIn(surroundings: Surroundings, task: TaskEntry): Promise<Trace> {
  const lines = await logOf(surroundings, task);
  return { url: lines.map((line) => /^downloading (\S+) to /.exec(line)?.[1]).find((url) => url !== undefined) };
}

/** Downloads and copies of this token to the name, the newest first. */
async function tasksFor(
  surroundings: Surroundings,
  { node, file }: FilePlace,
  source: 'active' | 'all',
): Promise<TaskEntry[]> {
  const { work, signal } = surroundings;
  const isOurs = ({ upid }: TaskEntry) => parseUpid(upid)?.user === work.principal;
  const list = async (on: string, typefilter: string) =>
    (await work.node(on).tasks.list({ source, typefilter, limit: 500 }, { signal })).filter(isOurs);
  const downloads = (await list(node, 'download')).filter(({ id }) => id === file);
  // A copy runs on the node that took the upload, and only its log tells what it copies.
  const copies = new Map<string, TaskEntry>();
  for (const on of new Set(['localhost', node])) {
    for (const task of await list(on, 'imgcopy')) copies.set(task.upid, task);
  }
  const found = [...downloads];
  for (const task of copies.values()) {
    const target = (await logOf(surroundings, task)).find((line) => line.startsWith('target file: '));
    if (target === undefined || target.endsWith(`/${file}`)) found.push(task);
  }
  return found.sort((a, b) => b.starttime - a.starttime);
}

async function logOf({ work, signal }: Surroundings, { upid, node }: TaskEntry): Promise<string[]> {
  const { entries } = await work.node(node).tasks.log(upid, { start: 0, limit: 50 }, { signal });
  return entries.map(({ t }) => t);
}
