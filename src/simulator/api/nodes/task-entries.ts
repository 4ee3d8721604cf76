/** The faces of a task: as a status, in a node's lists, in the cluster's list. */
import type { Instant } from '../../../base/clock.ts';
import type { TaskRecord } from '../../world/world.ts';

export type TaskEntry = Record<string, unknown>;

/** Rule [recorded tasks-status-log]: owner and token are shown apart. */
export function ownerOf(task: Pick<TaskRecord, 'user'>): { user: string; tokenid?: string } {
  const [user = '', tokenid] = task.user.split('!');
  return tokenid === undefined ? { user } : { user, tokenid };
}

/** Rule [source PM API2/Tasks.pm $check_task_user]: a token sees its own tasks, a user his and those of his tokens. */
export function isOwner(task: Pick<TaskRecord, 'user'>, authid: string): boolean {
  return task.user === authid || ownerOf(task).user === authid;
}

export function taskStatus(task: TaskRecord, isRunning: boolean): TaskEntry {
  return {
    ...identity(task),
    ...ownerOf(task),
    status: isRunning ? 'running' : 'stopped',
    ...(isRunning ? {} : { exitstatus: task.exitStatus ?? 'unexpected status' }),
  };
}

/** The active list learns of an end only when it is rewritten. */
export function isArchived(task: TaskRecord, now: Instant): boolean {
  return task.archivedAt !== undefined && task.archivedAt <= now;
}

/** Rule [recorded clone-full-during]: an active entry keeps the full token id, is `RUNNING` and has `saved` as text. */
export function activeEntry(task: TaskRecord): TaskEntry {
  return { ...identity(task), user: task.user, saved: '0', status: 'RUNNING' };
}

export function archiveEntry(task: TaskRecord): TaskEntry {
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
