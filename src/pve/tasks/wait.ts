/**
 * Waits for a task to end: polls the status endpoint of the node in the UPID, when it should have ended (`pace.ts`). Task
 * lists are no substitute: they hide running tasks, lag, and cannot tell two clones of one template apart. Waiting never
 * starts a task, and a failed connection is not a failed task.
 */

import type { Clock, Ticks } from '../../base/clock.ts';
import { invariant, isCanceled, ProxwrightError } from '../../base/errors.ts';
import { Limiter } from '../../base/limiter.ts';
import type { Logger } from '../../base/log.ts';
import { Attempts, RETRIES } from '../../base/retry.ts';
import type { KnownSecrets } from '../../base/secret.ts';
import { NodeTasks } from '../api/nodes/tasks.ts';
import { isConnectionTrouble, isNotFound } from '../errors/kinds.ts';
import type { Reach } from '../reach.ts';
import type { Api } from '../request.ts';
import { parseUpid, type Upid } from '../wire/ids.ts';
import { type TaskDurations, TaskPace } from './pace.ts';
import {
  durationText,
  type TaskContext,
  taskFailed,
  taskName,
  taskTimedOut,
  taskUnclear,
  taskVanished,
  waitCanceled,
} from './task-errors.ts';
import {
  fractionIn,
  lastLines,
  linesAfter,
  readExitStatus,
  readLastLogLine,
  type TaskEnd,
  type TaskProgress,
  waitedForLock,
  withoutProgress,
} from './task-reports.ts';

export interface WaitOptions {
  /** From the start of the wait; 30 minutes by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What such a task usually takes, if its type alone does not tell. What earlier ones took counts more. */
  readonly usualMs?: number | undefined;
  /** Costs one more request per poll. */
  readonly onProgress?: ((progress: TaskProgress) => void) | undefined;
  /**
   * A sign that is cheaper than a poll, because many waits share it. While it says no, the task itself is polled only now and
   * then; it decides nothing.
   */
  readonly mayBeOver?: (() => Promise<boolean>) | undefined;
  /** How many lines from the end of the log the error contains, or the result of a task with warnings. */
  readonly logLines?: number | undefined;
}

export interface TaskResult {
  readonly upid: Upid;
  readonly outcome: 'ok' | 'warnings';
  readonly warnings: number;
  /** The lines with warnings, or the last lines if none are marked; empty without warnings. */
  readonly log: readonly string[];
  readonly waitedMs: number;
}

export interface TaskWaiterDeps {
  readonly api: Api;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollLimiter: PollLimiter;
  readonly durations: TaskDurations;
  readonly reach: Reach;
  readonly endpoint: string;
  readonly principal: string;
  /** Removed from logs and exit texts, which repeat what was sent. */
  readonly secrets: KnownSecrets;
}

const DEFAULT_TIMEOUT_MS = 30 * 60_000;
/** For one status request; the wait as a whole has its own limit. */
const POLL_TIMEOUT_MS = 15_000;
/** The worker that responds may not know a task that has just started. */
const UNKNOWN_GRACE_MS = 10_000;
/** A task may fail without the sign that it is over, so it is polled at least this often. */
const LONGEST_UNPOLLED_MS = 10_000;
/** How often to check an unclear end again: the three workers of the server may respond differently. */
const UNCLEAR_LOOKS = 4;
/** A copy writes a line for each percent. */
const LINES_OF_A_FAILURE = 150;

type Observation =
  | { readonly kind: 'running' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'ended'; readonly end: TaskEnd };

export class TaskWaiter {
  readonly #deps: TaskWaiterDeps;

  constructor(deps: TaskWaiterDeps) {
    this.#deps = deps;
  }

  async wait(upid: Upid, options: WaitOptions = {}): Promise<TaskResult> {
    const watch = new Watch(this.#deps, upid, options);
    try {
      return await watch.untilEnd();
    } catch (thrown) {
      throw isCanceled(thrown) ? waitCanceled(watch.context, thrown) : thrown;
    }
  }
}

/** One wait, with what it has observed so far. */
class Watch {
  readonly context: TaskContext;
  readonly #deps: TaskWaiterDeps;
  readonly #options: WaitOptions;
  readonly #tasks: NodeTasks;
  readonly #startedAt: Ticks;
  readonly #timeoutMs: number;
  #lastKind = '';
  #unknownSince: Ticks | undefined;
  #unclearLooks = 0;
  #linesSeen = 0;
  #polledAt: Ticks | undefined;
  #runningMs: number | undefined;
  #hasFraction = false;
  /** Consecutive responses that make no sense. */
  readonly #answers: Attempts;
  readonly #pace: TaskPace;

  constructor(deps: TaskWaiterDeps, upid: Upid, options: WaitOptions) {
    const node = parseUpid(upid)?.node;
    invariant(node, `${upid} is not a UPID.`);
    this.#deps = deps;
    this.#options = options;
    this.#tasks = new NodeTasks(deps.api, node);
    this.#startedAt = deps.clock.ticks();
    this.#pace = new TaskPace(deps.clock, deps.durations.expected(upid, options.usualMs));
    this.#answers = new Attempts(RETRIES.taskStatus, deps);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.context = { upid, endpoint: deps.endpoint, principal: deps.principal, secrets: deps.secrets };
  }

  async untilEnd(): Promise<TaskResult> {
    const { clock } = this.#deps;
    for (let poll = 1; ; poll++) {
      await this.#untilNextPoll();
      const observation = await this.#look();
      this.#log(poll, observation);
      const end = await this.#judge(observation);
      if (end) return this.#conclude(end);
      if (clock.ticks() - this.#startedAt >= this.#timeoutMs) throw await this.#timeOut();
    }
  }

  async #untilNextPoll(): Promise<void> {
    const { clock } = this.#deps;
    const { mayBeOver, signal } = this.#options;
    for (;;) {
      const pauseMs = mayBeOver ? this.#pace.nextSignPauseMs() : this.#pace.nextPauseMs();
      const remainingMs = Math.max(0, this.#startedAt + this.#timeoutMs - clock.ticks());
      await clock.sleep(Math.min(pauseMs, remainingMs), signal);
      const isDue = this.#polledAt === undefined || clock.ticks() - this.#polledAt >= LONGEST_UNPOLLED_MS;
      if (!mayBeOver || isDue || pauseMs >= remainingMs || (await mayBeOver())) break;
    }
    this.#polledAt = clock.ticks();
  }

  async #look(): Promise<Observation> {
    const { upid } = this.context;
    const { signal } = this.#options;
    try {
      const question = async (): Promise<Observation> => {
        if (await this.#hasProgressed()) return { kind: 'running' };
        // Sent once: the next poll is the retry, and it stays within the poll limiter.
        const status = await this.#tasks.status(upid, { signal, timeoutMs: POLL_TIMEOUT_MS, attempts: 1 });
        if (status.status === 'running') return { kind: 'running' };
        return { kind: 'ended', end: readExitStatus(status.exitstatus) };
      };
      const observation = await this.#deps.pollLimiter.poll(question, signal);
      this.#answers.restart();
      return observation;
    } catch (thrown) {
      if (isNotFound(thrown, 'task')) return { kind: 'unknown' };
      return { kind: 'unreachable', reason: this.#excuse(thrown) };
    }
  }

  /** The code of an error that says nothing about the task; rethrows any other error. */
  #excuse(thrown: unknown): string {
    const { reach } = this.#deps;
    // A connection may stay down for a while. Nonsense from the server is an error after a few attempts.
    const isExcused = isConnectionTrouble(thrown)
      ? reach.mayTryAgain(thrown)
      : this.#answers.next(thrown) !== undefined;
    if (!(thrown instanceof ProxwrightError)) throw thrown;
    if (!isExcused) throw reach.gaveUp(thrown, taskName(this.context.upid));
    return thrown.code;
  }

  /** How the task ended, or `undefined` while that is not known. */
  async #judge(observation: Observation): Promise<TaskEnd | undefined> {
    const now = this.#deps.clock.ticks();
    if (observation.kind === 'unknown') {
      this.#unknownSince ??= now;
      const unknownMs = now - this.#unknownSince;
      if (unknownMs >= UNKNOWN_GRACE_MS) throw taskVanished(this.context, unknownMs);
      return undefined;
    }
    this.#unknownSince = undefined;
    if (observation.kind === 'running') this.#runningMs = now - this.#startedAt;
    if (observation.kind !== 'ended') return undefined;
    if (observation.end.kind !== 'unclear') return observation.end;
    this.#unclearLooks++;
    const [lastLine] = await this.#tail(1);
    return readLastLogLine(lastLine) ?? (this.#unclearLooks >= UNCLEAR_LOOKS ? observation.end : undefined);
  }

  async #conclude(end: TaskEnd): Promise<TaskResult> {
    const { upid } = this.context;
    const waitedMs = this.#deps.clock.ticks() - this.#startedAt;
    const count = this.#options.logLines ?? 10;
    this.#deps.logger.log('debug', `${taskName(upid)} ended after ${durationText(waitedMs)}: ${end.kind}`, {
      upid,
      waitedMs,
    });
    switch (end.kind) {
      case 'ok':
        this.#deps.durations.ended(upid, { overMs: waitedMs, runningMs: this.#runningMs });
        if (this.#hasFraction) this.#options.onProgress?.({ upid, elapsedMs: waitedMs, lines: [], fraction: 1 });
        return { upid, outcome: 'ok', warnings: 0, log: [], waitedMs };
      case 'warnings': {
        const lines = await this.#tail(Math.max(count, 50));
        const warning = lines.filter((line) => /^(WARN|warning)/i.test(line));
        const log = warning.length > 0 ? warning : lines.slice(-count);
        return { upid, outcome: 'warnings', warnings: end.warnings, log, waitedMs };
      }
      case 'failed':
        throw taskFailed(this.context, end.text, await this.#lastWords(count));
      case 'unclear':
        throw taskUnclear(this.context, end.text, await this.#lastWords(count));
    }
  }

  async #timeOut(): Promise<Error> {
    return taskTimedOut(this.context, this.#timeoutMs, (await this.#tail(1))[0]);
  }

  /**
   * Reports new lines of the log, if a caller wants them. A log that has grown, but not by its last line, belongs to a running
   * task. A task whose log has its last line may still run for a moment, so only the status says that it has ended.
   */
  async #hasProgressed(): Promise<boolean> {
    const { onProgress } = this.#options;
    // Ask for the status of a task that should have ended.
    if (!onProgress || this.#pace.expectsEnd) return false;
    const news = await linesAfter(this.#tasks, this.context.upid, this.#linesSeen, this.#logOptions());
    this.#linesSeen += news.length;
    const lines = news.filter((line) => readLastLogLine(line) === undefined);
    if (lines.length > 0) this.#report(lines, onProgress);
    return lines.length > 0 && lines.length === news.length;
  }

  #report(lines: readonly string[], onProgress: (progress: TaskProgress) => void): void {
    const fraction = fractionIn(lines);
    const elapsedMs = this.#deps.clock.ticks() - this.#startedAt;
    if (waitedForLock(lines)) this.#pace.waited();
    if (fraction !== undefined) this.#pace.progressed(fraction);
    this.#hasFraction ||= fraction !== undefined;
    onProgress({ upid: this.context.upid, elapsedMs, lines, ...(fraction !== undefined && { fraction }) });
  }

  /** The end of the log, without the lines of progress. */
  async #lastWords(count: number): Promise<string[]> {
    return withoutProgress(await this.#tail(Math.max(count, LINES_OF_A_FAILURE))).slice(-count);
  }

  #tail(count: number): Promise<string[]> {
    return lastLines(this.#tasks, this.context.upid, count, this.#logOptions());
  }

  #logOptions() {
    return { signal: this.#options.signal, timeoutMs: POLL_TIMEOUT_MS };
  }

  /** Logs the first poll, every tenth, and every change. */
  #log(poll: number, observation: Observation): void {
    const changed = observation.kind !== this.#lastKind;
    this.#lastKind = observation.kind;
    if (!changed && poll % 10 !== 0) return;
    const { upid } = this.context;
    const reason = observation.kind === 'unreachable' ? ` (${observation.reason})` : '';
    const elapsedMs = this.#deps.clock.ticks() - this.#startedAt;
    const message = `${taskName(upid)}: ${observation.kind}${reason}, poll ${poll}, ${durationText(elapsedMs)}`;
    this.#deps.logger.log('debug', message, { upid, poll, state: observation.kind });
  }
}

export interface PollLimits {
  readonly inFlight: number;
  readonly perSecond: number;
}

export const DEFAULT_POLL_LIMITS: PollLimits = { inFlight: 4, perSecond: 20 };

/**
 * Spreads the status polls of all tasks that one client waits for, so that a hundred tasks load the server no more than
 * a few do: a fixed number in any one second. Tasks that end together are noticed together. The task that has waited
 * longest is polled first.
 */
export class PollLimiter {
  readonly #clock: Clock;
  readonly #limiter: Limiter;
  readonly #perSecond: number;
  /** When the last polls began or will begin, at most as many as a second may have. */
  readonly #starts: Ticks[] = [];

  constructor(clock: Clock, limits: PollLimits = DEFAULT_POLL_LIMITS) {
    this.#clock = clock;
    this.#limiter = new Limiter(limits.inFlight);
    this.#perSecond = limits.perSecond;
  }

  poll<T>(question: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#limiter.run(async () => {
      const now = this.#clock.ticks();
      const start = Math.max(now, this.#secondAfterFirst());
      this.#starts.push(start);
      if (start > now) await this.#clock.sleep(start - now, signal);
      return question();
    }, signal);
  }

  /** The earliest time at which the limit allows another poll. */
  #secondAfterFirst(): Ticks {
    if (this.#starts.length < this.#perSecond) return 0;
    return (this.#starts.shift() ?? 0) + 1000;
  }
}
