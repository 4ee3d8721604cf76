/** /nodes/{node}/tasks: lists of tasks, and status, log and end of one. */
import { parseUpid, splitList, type UpidParts } from '../../../pve/wire/index.ts';
import { type Call, type CallTo, Download, Paged, type Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { TaskRecord } from '../../world/world.ts';
import { indexOf } from '../indexes.ts';
import { activeEntry, archiveEntry, isArchived, isOwner, ownerOf, type TaskEntry, taskStatus } from './task-entries.ts';

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
  const wanted = wantedOutcomes(params.statusfilter, params.errors ?? false);
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
    return wanted.has(isActive ? 'unknown' : outcomeOf(task.exitStatus ?? ''));
  };
}

function wantedOutcomes(statusFilter: string | undefined, errorsOnly: boolean): ReadonlySet<string> {
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

/** Logs are files of the node that ran the task; another node knows nothing of it. */
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
