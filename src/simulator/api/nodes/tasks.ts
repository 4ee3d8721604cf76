/** /nodes/{node}/tasks: the lists of tasks, and the status, log and end of one task. */
import type { Instant } from '../../../base/clock.ts';
import { parseUpid, splitList, type UpidParts } from '../../../pve/wire/index.ts';
import { type Call, type CallTo, Download, Paged, type Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { TaskRecord } from '../../world/world.ts';
import { indexOf } from '../indexes.ts';

export const taskRoutes: Routes = {
  'GET /nodes/{node}/tasks': listTasks,
  'GET /nodes/{node}/tasks/{upid}': () => indexOf('name', ['log', 'status']),
  'DELETE /nodes/{node}/tasks/{upid}': stopTask,
  'GET /nodes/{node}/tasks/{upid}/log': readLog,
  'GET /nodes/{node}/tasks/{upid}/status': readStatus,
};

type TaskCall = Call<{ readonly upid: string }>;

const DEFAULT_LIMIT = 50;

function listTasks(call: CallTo<'GET /nodes/{node}/tasks'>): Paged {
  const { params, runtime } = call;
  const source = params.source ?? 'archive';
  const start = params.start ?? 0;
  const limit = params.limit ?? DEFAULT_LIMIT;
  const now = runtime.clock.now();
  const active: TaskRecord[] = [];
  const archived: TaskRecord[] = [];
  for (const task of runtime.world.tasks.values()) {
    if (task.node === call.node) (isArchived(task, now) ? archived : active).push(task);
  }
  const matches = matcher(call);
  const found: TaskEntry[] = [];
  if (source !== 'archive')
    found.push(
      ...active
        .reverse()
        .filter((task) => matches(task, true))
        .map(activeEntry),
    );
  if (source !== 'active') {
    // The archive is read from its end: what was filed last comes first.
    const newestFirst = archived.reverse().sort((a, b) => (b.archivedAt ?? 0) - (a.archivedAt ?? 0));
    found.push(...newestFirst.filter((task) => matches(task, false)).map(archiveEntry));
  }
  return new Paged(found.slice(start, start + limit), found.length);
}

/** Rule [source PM API2/Tasks.pm node_tasks]: `vmid` compares the id of the UPID, so a clone is found under its source. */
function matcher(call: CallTo<'GET /nodes/{node}/tasks'>): (task: TaskRecord, isActive: boolean) => boolean {
  const { params } = call;
  const seesAll = call.may(`/nodes/${call.node}`, ['Sys.Audit']);
  const userFilter = params.userfilter?.toLowerCase();
  const { typefilter: typeFilter, vmid, since, until } = params;
  const requested = requestedOutcomes(params.statusfilter, params.errors ?? false);
  return (task, isActive) => {
    const shownUser = isActive ? task.user : ownerOf(task).user;
    if (userFilter !== undefined && !shownUser.toLowerCase().includes(userFilter)) return false;
    // Active entries still carry the whole token id, so a user does not recognise his tokens' tasks there.
    if (!seesAll && !(isActive ? task.user === call.caller.authid : isOwner(task, call.caller.authid))) return false;
    if (typeFilter !== undefined && task.type !== typeFilter) return false;
    if (vmid !== undefined && task.id !== String(vmid)) return false;
    const startSeconds = Math.floor(task.startedAt / 1000);
    if (since !== undefined && startSeconds < since) return false;
    if (until !== undefined && startSeconds > until) return false;
    return requested.has(isActive ? 'unknown' : outcomeOf(task.exitStatus ?? ''));
  };
}

function requestedOutcomes(statusFilter: string | undefined, errorsOnly: boolean): ReadonlySet<string> {
  if (errorsOnly) return new Set(['warning', 'error', 'unknown']);
  return new Set(
    statusFilter === undefined ? ['ok', 'warning', 'error', 'unknown'] : splitList(statusFilter.toLowerCase()),
  );
}

/** Rule [source PC UPID.pm normalize_status_type]. */
function outcomeOf(exitStatus: string): string {
  if (exitStatus === '' || exitStatus === 'unexpected status') return 'unknown';
  if (exitStatus === 'OK') return 'ok';
  return /^WARNINGS: \d+$/.test(exitStatus) ? 'warning' : 'error';
}

function readStatus(call: CallTo<'GET /nodes/{node}/tasks/{upid}/status'>): TaskEntry {
  const task = existingTask(call);
  if (!isOwner(task, call.caller.authid)) call.require(`/nodes/${call.node}`, ['Sys.Audit']);
  return taskStatus(task, call.runtime.tasks.isRunning(task.upid));
}

/** Rule [recorded tasks-status-log]: a log that does not exist is an answer of one line. */
function readLog(call: CallTo<'GET /nodes/{node}/tasks/{upid}/log'>): Paged | Download {
  const { params } = call;
  const upid = decodedUpid(call);
  if (!isOwner(upid, call.caller.authid)) call.require(`/nodes/${call.node}`, ['Sys.Audit']);
  if (params.download && (params.start !== undefined || params.limit !== undefined)) {
    throw dieFault("'download' cannot be used together with 'start' or 'limit' parameters");
  }
  const task = findTask(call);
  const lines = task ? task.log : ['unable to open file - No such file or directory'];
  if (params.download && task) {
    const startedAt = new Date(task.startedAt).toISOString().replace(/\.\d+Z$/, 'Z');
    const filename = `task-${task.node}-${task.type}-${startedAt}.log`;
    return new Download(filename, task.log.map((line) => `${line}\n`).join(''));
  }
  const shown = lines.length > 0 ? lines : ['no content'];
  const start = params.start ?? 0;
  const limit = params.limit ?? DEFAULT_LIMIT;
  const end = limit === 0 ? shown.length : start + limit;
  return new Paged(
    shown.slice(start, end).map((line, index) => ({ n: start + index + 1, t: line })),
    shown.length,
  );
}

/** Rule [recorded tasks-abort-clone]: the call waits until the worker is gone; stopping what has stopped is fine. */
async function stopTask(call: CallTo<'DELETE /nodes/{node}/tasks/{upid}'>): Promise<null> {
  const task = existingTask(call);
  if (!isOwner(task, call.caller.authid)) call.require(`/nodes/${call.node}`, ['Sys.Modify']);
  await call.runtime.tasks.stop(task.upid);
  return null;
}

function decodedUpid(call: TaskCall): UpidParts {
  const upid = parseUpid(call.params.upid);
  if (!upid) throw paramFault({ upid: 'unable to parse worker upid' });
  return upid;
}

/** Logs are files of the node that ran the task; other nodes do not have them. */
function findTask(call: TaskCall): TaskRecord | undefined {
  const task = call.runtime.world.tasks.get(call.params.upid);
  return task?.node === call.node ? task : undefined;
}

function existingTask(call: TaskCall): TaskRecord {
  decodedUpid(call);
  const task = findTask(call);
  if (!task) throw paramFault({ upid: 'no such task' });
  return task;
}

type TaskEntry = Record<string, unknown>;

/** Rule [recorded tasks-status-log]: owner and token are shown apart. */
function ownerOf(task: Pick<TaskRecord, 'user'>): { user: string; tokenid?: string } {
  const [user = '', tokenid] = task.user.split('!');
  return tokenid === undefined ? { user } : { user, tokenid };
}

/** Rule [source PM API2/Tasks.pm $check_task_user]: a token sees its own tasks, a user his and those of his tokens. */
function isOwner(task: Pick<TaskRecord, 'user'>, authid: string): boolean {
  return task.user === authid || ownerOf(task).user === authid;
}

function taskStatus(task: TaskRecord, isRunning: boolean): TaskEntry {
  return {
    ...identity(task),
    ...ownerOf(task),
    status: isRunning ? 'running' : 'stopped',
    ...(isRunning ? {} : { exitstatus: task.exitStatus ?? 'unexpected status' }),
  };
}

/** The active list learns of an end only when it is rewritten. */
function isArchived(task: TaskRecord, now: Instant): boolean {
  return task.archivedAt !== undefined && task.archivedAt <= now;
}

/** Rule [recorded clone-full-during]: an active entry keeps the full token id, is `RUNNING` and has `saved` as text. */
function activeEntry(task: TaskRecord): TaskEntry {
  return { ...identity(task), user: task.user, saved: '0', status: 'RUNNING' };
}

function archiveEntry(task: TaskRecord): TaskEntry {
  return { ...identity(task), ...ownerOf(task), endtime: endSeconds(task), status: task.exitStatus ?? '' };
}

/** Rule [source CL PVE/Cluster.pm broadcast_tasklist]: no process ids; a running task has neither status nor end. */
export function clusterTaskEntry(task: TaskRecord, now: Instant): TaskEntry {
  const { pid: _pid, pstart: _pstart, ...rest } = identity(task);
  const isOver = isArchived(task, now);
  return {
    ...rest,
    ...ownerOf(task),
    saved: isOver ? '1' : '0',
    ...(isOver ? { endtime: endSeconds(task), status: task.exitStatus ?? '' } : {}),
  };
}

function identity(task: TaskRecord): TaskEntry {
  return {
    upid: task.upid,
    node: task.node,
    pid: task.pid,
    pstart: task.pstart,
    starttime: Math.floor(task.startedAt / 1000),
    type: task.type,
    id: task.id,
  };
}

function endSeconds(task: TaskRecord): number {
  return Math.floor((task.endedAt ?? task.startedAt) / 1000);
}
