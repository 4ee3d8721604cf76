/**
 * Workers: what a request forks when its work takes time. A task has a UPID, a growing log and, once it has stopped, an
 * exit status. `api/nodes/tasks.ts` lists and reads tasks.
 */
import type { Clock } from '../../base/clock.ts';
import { isCanceled } from '../../base/errors.ts';
import { type Random, randomInteger } from '../../base/random.ts';
import { ApiFault } from '../http/response.ts';
import type { TaskRecord, World } from '../world/world.ts';

/** What a worker's job receives: its log, its clock, and a signal that asks it to stop. */
export interface Task {
  readonly record: TaskRecord;
  log(line: string): void;
  /** Logs `WARN: …`; a task that warned ends with `WARNINGS: n` instead of `OK`. */
  warn(text: string): void;
  /** Pauses; throws `TaskInterrupted` when the task is aborted meanwhile. */
  sleep(ms: number): Promise<void>;
  /** Aborted by DELETE …/tasks/{upid}. */
  readonly signal: AbortSignal;
}

export type Job = (task: Task) => Promise<void>;

/** Thrown out of a wait when a client stops the task: the worker got SIGTERM. */
export class TaskInterrupted extends Error {
  constructor() {
    // Rule [recorded tasks-abort-others]: the message of a worker that was waiting itself; a command that it was
    // running has another.
    super('received interrupt');
    this.name = 'TaskInterrupted';
  }
}

/** `kill -9` on the node: the worker does nothing more, and its unfinished work stays as it is. */
export class WorkerKilled extends Error {
  constructor() {
    super('killed');
    this.name = 'WorkerKilled';
  }
}

/** Call it before a job cleans up after a failure: a killed worker cleans up nothing. */
export function unlessKilled(task: Pick<Task, 'signal'> | undefined): void {
  if (task?.signal.reason instanceof WorkerKilled) throw task.signal.reason;
}

/** Seams for faults: a plan may make a task fail or warn. */
export interface TaskHooks {
  beforeJob?(record: TaskRecord): void;
  onLog?(record: TaskRecord, line: string): void;
  beforeEnd?(task: Task): void;
}

interface RunningTask {
  readonly record: TaskRecord;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** Rule [recorded tasks-status-log]: a worker needs a moment between its UPID and its first action. */
const FORK_MS = 12;
/** Rule [source PC RESTEnvironment.pm fork_worker]: the last line is written a moment before the process is gone. */
const REAP_MS = 4;

export class TaskRunner {
  readonly #world: World;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #hooks: TaskHooks;
  readonly #running = new Map<string, RunningTask>();
  #nextPid: number;

  constructor(world: World, clock: Clock, random: Random, hooks: TaskHooks) {
    this.#world = world;
    this.#clock = clock;
    this.#random = random;
    this.#hooks = hooks;
    this.#nextPid = 3000 + randomInteger(random, 0, 500);
  }

  /** Starts a worker and returns its UPID at once; the job begins a moment later. */
  fork(node: string, type: string, id: string, user: string, job: Job): string {
    const record = this.#newRecord(node, type, id, user);
    this.#world.tasks.set(record.upid, record);
    const abort = new AbortController();
    const ended = this.#work(record, abort.signal, job);
    this.#running.set(record.upid, { record, abort, ended });
    return record.upid;
  }

  isRunning(upid: string): boolean {
    return this.#running.has(upid);
  }

  /** The end of a task, for callers that wait for a worker (`background_delay`). */
  async ended(upid: string): Promise<void> {
    await this.#running.get(upid)?.ended;
  }

  /** Rule [source PC RESTEnvironment.pm check_worker]: SIGTERM, up to 5 s of grace; recorded tasks-abort-clone: 2 s. */
  async stop(upid: string): Promise<void> {
    const running = this.#running.get(upid);
    if (!running) return;
    running.abort.abort();
    await running.ended;
  }

  /** Like `kill -9` of the worker on the node; takes effect at the worker's next wait. */
  async kill(upid: string): Promise<void> {
    const running = this.#running.get(upid);
    if (!running) return;
    running.abort.abort(new WorkerKilled());
    await running.ended;
  }

  nextPid(): number {
    this.#nextPid += randomInteger(this.#random, 1, 7);
    return this.#nextPid;
  }

  async #work(record: TaskRecord, signal: AbortSignal, job: Job): Promise<void> {
    let warnings = 0;
    const log = (text: string) => {
      // Rule [recorded clone-full-during]: a line break inside a message starts a new log line.
      for (const line of text.replace(/\n+$/, '').split('\n')) {
        record.log.push(line);
        this.#hooks.onLog?.(record, line);
      }
    };
    const task: Task = {
      record,
      signal,
      log,
      warn: (text) => {
        warnings++;
        log(`WARN: ${text}`);
      },
      sleep: async (ms) => {
        try {
          await this.#clock.sleep(ms, signal);
        } catch (error) {
          if (isCanceled(error)) throw new TaskInterrupted();
          throw error;
        }
      },
    };
    let status: string;
    try {
      await this.#clock.sleep(FORK_MS);
      this.#hooks.beforeJob?.(record);
      await job(task);
      this.#hooks.beforeEnd?.(task);
      status = warnings > 0 ? `WARNINGS: ${warnings}` : 'OK';
      record.log.push(`TASK ${status}`);
    } catch (error) {
      // Rule [source PC UPID.pm read_status]: without a last line the status is unexpected.
      if (signal.reason instanceof WorkerKilled) status = 'unexpected status';
      else {
        const message = taskErrorText(error);
        for (const line of `TASK ERROR: ${message}`.replace(/\n+$/, '').split('\n')) record.log.push(line);
        // Rule [recorded mapping-usb-dir]: the last line feed is removed, all others become blanks, even at the end.
        status = message.replace(/\n$/, '').replace(/\n/g, ' ');
      }
    }
    await this.#clock.sleep(REAP_MS);
    this.#running.delete(record.upid);
    record.endedAt = this.#clock.now();
    record.exitStatus = status;
    // Rule [source PC RESTEnvironment.pm $log_task_result]: the daemon files a worker when it reaps it, so the list has the
    // end of a task as soon as its status has.
    record.archivedAt = record.endedAt;
  }

  #newRecord(node: string, type: string, id: string, user: string): TaskRecord {
    const startedAt = this.#clock.now();
    const bootedAt = this.#world.nodes.get(node)?.bootedAt ?? 0;
    const pid = this.nextPid();
    const pstart = Math.floor((startedAt - bootedAt) / 10);
    const hex = (value: number) => value.toString(16).toUpperCase().padStart(8, '0');
    // Rule [source PC UPID.pm encode]: node, pid, start tick, epoch seconds, type, id, user; ends with a colon.
    const upid = `UPID:${node}:${hex(pid)}:${hex(pstart)}:${hex(Math.floor(startedAt / 1000))}:${type}:${id}:${user}:`;
    return {
      upid,
      node,
      pid,
      pstart,
      type,
      id,
      user,
      startedAt,
      log: [],
      endedAt: undefined,
      exitStatus: undefined,
      archivedAt: undefined,
    };
  }
}

/**
 * Rule [source PC Exception.pm stringify]: an API exception inside a worker becomes `403 text` or
 * `400 Parameter verification failed.` followed by its errors; a plain die is its text.
 */
function taskErrorText(error: unknown): string {
  if (error instanceof ApiFault) return error.asTaskError();
  if (error instanceof Error) return error.message;
  return String(error);
}
