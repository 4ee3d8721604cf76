/** Starts tasks and follows them to their end, so that an interrupted run can resume and no task is started twice. */
import { hasCode } from '../../base/errors.ts';
import { printDuration, upTo } from '../../base/values/units.ts';
import { isOutcomeUnknown, parseUpid, type TaskResult, type Upid } from '../../pve/index.ts';
import type { ActionContext } from '../action.ts';

export interface TaskRequest {
  /** For messages: `start`. */
  readonly what: string;
  readonly node: string;
  readonly vmid: number;
  /** What Proxmox files the task under, if not the id of the VM. */
  readonly filedAs?: string;
  /** The type of the task the request starts, such as `qmstart`. */
  readonly type: string;
  readonly timeoutMs: number;
  /** Its log says how far it is. */
  readonly withProgress?: boolean;
  readonly send: () => Promise<Upid | undefined>;
  /**
   * For a request without a digest that would do harm if it arrived late, such as a DELETE once the id has a new VM:
   * whether it has taken effect. If its answer is lost, the action waits until it has, or until the request can no
   * longer arrive.
   */
  readonly isOver?: () => Promise<boolean>;
  /** A cheap sign that the task may have ended. */
  readonly mayBeOver?: () => Promise<boolean>;
}

/**
 * Sends the request and waits for its task. If the answer was lost, a running task of ours of this type counts as it;
 * without one, the error with the unknown outcome is thrown, and the caller reads the VM.
 */
export async function runTask(context: ActionContext, request: TaskRequest): Promise<TaskResult | undefined> {
  let upid: Upid | undefined;
  try {
    upid = await request.send();
  } catch (error) {
    if (!isOutcomeUnknown(error)) throw error;
    [upid] = await runningTasks(context, tasksOf(request));
    if (upid === undefined && request.isOver) upid = await arrivedLate(context, request, request.isOver);
    context.log.log('debug', `${context.address}: the answer to ${request.what} was lost`, { upid: upid ?? null });
    if (upid === undefined) throw error;
  }
  return upid && followListed(context, upid, request);
}

const LATE_POLL_MS = 5_000;

/** Waits for a request whose answer was lost, for as long as it can still arrive. */
async function arrivedLate(
  context: ActionContext,
  request: TaskRequest,
  isOver: () => Promise<boolean>,
): Promise<Upid | undefined> {
  const deadline = context.clock.ticks() + ON_ITS_WAY_MS;
  while (!(await isOver()) && context.clock.ticks() < deadline) {
    context.progress(
      upTo(`${request.what}: no answer came; waiting for a request that may still arrive`, ON_ITS_WAY_MS),
    );
    await context.clock.sleep(LATE_POLL_MS, context.signal);
    const [upid] = await runningTasks(context, tasksOf(request));
    if (upid !== undefined) return upid;
  }
  return undefined;
}

/** A node that does not know the task may still list it as running: then wait for it, and send nothing again. */
async function followListed(context: ActionContext, upid: Upid, request: TaskRequest): Promise<TaskResult> {
  try {
    return await follow(context, upid, request);
  } catch (error) {
    if (!isTaskLost(error)) throw error;
    const [running] = await runningTasks(context, tasksOf(request));
    if (running === undefined) throw error;
    return follow(context, running, request);
  }
}

function tasksOf({ node, vmid, filedAs, type }: TaskRequest): TaskFilter {
  return { node, id: filedAs ?? vmid, type };
}

interface FollowOptions {
  readonly what: string;
  readonly timeoutMs: number;
  /** What it usually takes, if its type alone does not tell. */
  readonly usualMs?: number;
  readonly withProgress?: boolean;
  /** The type of task that `mayBeOver` is about: under HA, a task of another type only files the request. */
  readonly type?: string;
  readonly mayBeOver?: () => Promise<boolean>;
  /** False for the task of another client: it is not journaled, or the next run would take it for ours. */
  readonly isOurs?: boolean;
}

/** Journals the task, then waits for it. */
export async function follow(context: ActionContext, upid: Upid, options: FollowOptions): Promise<TaskResult> {
  const { what, timeoutMs, usualMs, withProgress = false, mayBeOver } = options;
  if (options.isOurs !== false) await context.attach(upid, timeoutMs);
  const text = upTo(what, timeoutMs);
  context.progress(text);
  context.log.log('debug', `${context.address}: ${what} submitted, waiting up to ${printDuration(timeoutMs)}`, {
    upid,
  });
  const result = await context.pve.tasks.wait(upid, {
    timeoutMs,
    signal: context.signal,
    usualMs,
    ...(mayBeOver && parseUpid(upid)?.type === options.type && { mayBeOver }),
    ...(withProgress && {
      onProgress: ({ fraction }) =>
        context.progress(text, fraction === undefined ? undefined : Math.round(fraction * 100)),
    }),
  });
  if (result.outcome === 'warnings') {
    const lines = result.log.map((line) => `\n  ${line}`).join('');
    const text = `${what} ended with ${result.warnings} warning(s):${lines}`;
    context.log.log('warn', `${context.address}: ${text}`, { upid });
    await context.remark(text);
  }
  context.log.log('debug', `${context.address}: ${what} completed in ${printDuration(result.waitedMs)}`, { upid });
  return result;
}

/** A request can outlive the run that sent it: Proxmox's proxy gives its daemon this long to accept it. */
export const ON_ITS_WAY_MS = 30_000;

/**
 * How long a request of an earlier run may still arrive. It counts from the moment this run took the lock, when the earlier
 * one could send nothing any more. The times in its journal do not tell: the time of day may have been set since, and a
 * request may leave minutes after its intent, once the server can be reached.
 */
export function onItsWayMs({ clock, lockedTicks }: Pick<ActionContext, 'clock' | 'lockedTicks'>): number {
  return Math.max(0, lockedTicks + ON_ITS_WAY_MS - clock.ticks());
}

interface TaskFilter {
  readonly node: string;
  /** A VM id, or the full id that Proxmox files the task under. */
  readonly id?: number | string;
  readonly type?: string;
}

/** Our own running tasks, newest first. Proxmox lists a clone under the id of its source. */
export async function runningTasks(context: ActionContext, filter: TaskFilter): Promise<Upid[]> {
  const { node, id, type } = filter;
  // The default source hides running tasks. The list may lag and show ended tasks as running; waiting notices that.
  const tasks = await context.pve.node(node).tasks.list(
    {
      source: 'active',
      ...(typeof id === 'number' && { vmid: id }),
      ...(type !== undefined && { typefilter: type }),
      limit: 500,
    },
    { signal: context.signal },
  );
  return tasks
    .filter(({ upid, status }) => (status ?? 'RUNNING') === 'RUNNING' && isOurs(context, upid))
    .filter(({ upid }) => typeof id !== 'string' || parseUpid(upid)?.id === id)
    .sort((a, b) => b.starttime - a.starttime)
    .map(({ upid }) => upid);
}

/** The UPID contains the full name of the user or token that started the task. */
function isOurs(context: ActionContext, upid: Upid): boolean {
  return parseUpid(upid)?.user === context.pve.principal;
}

/** The task has not ended, or its outcome is unknown. */
export function isTaskUnended(error: unknown): boolean {
  return isTaskLost(error) || hasCode(error, 'TASK_TIMEOUT');
}

/** The node lost the task, so its outcome is unknown. */
export function isTaskLost(error: unknown): boolean {
  return hasCode(error, 'TASK_VANISHED');
}
