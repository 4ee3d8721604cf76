/**
 * Waiting for a task to end: the status endpoint of the node that the UPID names, asked quickly at first and then less
 * often. Lists of tasks are no substitute: they hide running tasks, lag, and cannot tell two clones of one template
 * apart. Waiting never starts anything, and a hitch of the connection is no failure of the task.
 */
import { invariant } from '../../base/assert.ts';
import type { Clock, Instant } from '../../base/clock.ts';
import { isCanceled, ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { Attempts, RETRIES } from '../../base/retry.ts';
import { NodeTasks } from '../api/nodes/tasks.ts';
import { isConnectionTrouble, isNotFound } from '../errors/kinds.ts';
import type { Api } from '../request.ts';
import { parseUpid, type Upid } from '../wire/upid.ts';
import { readExitStatus, readLastLogLine, type TaskEnd } from './exit-status.ts';
import { lastLines, linesAfter } from './log.ts';
import type { PollLimiter } from './poll-limiter.ts';
import { fractionIn, type TaskProgress } from './progress.ts';
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

export interface WaitOptions {
  /** From the beginning of the wait; half an hour unless told otherwise. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Asking for it costs one more request with each poll. */
  readonly onProgress?: ((progress: TaskProgress) => void) | undefined;
  /** How many last lines of the log go into the error, or into the result of a task with warnings. */
  readonly logLines?: number | undefined;
}

export interface TaskResult {
  readonly upid: Upid;
  readonly outcome: 'ok' | 'warnings';
  readonly warnings: number;
  /** The lines that warn, or failing those the last ones; empty without warnings. */
  readonly log: readonly string[];
  readonly waitedMs: number;
}

export interface TaskWaiterParts {
  readonly api: Api;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly scheduler: PollLimiter;
  readonly endpoint: string;
  readonly principal: string;
}

const DEFAULT_TIMEOUT_MS = 30 * 60_000;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;
/** One status question; the wait as a whole has its own bound. */
const POLL_TIMEOUT_MS = 15_000;
/** A task just started may not be known yet to the worker that answers. */
const UNKNOWN_GRACE_MS = 10_000;
/** How often an unclear end is looked at again: the three workers of the server may answer differently. */
const UNCLEAR_LOOKS = 4;

type Sight =
  | { readonly kind: 'running' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'ended'; readonly end: TaskEnd };

export class TaskWaiter {
  readonly #parts: TaskWaiterParts;

  constructor(parts: TaskWaiterParts) {
    this.#parts = parts;
  }

  async wait(upid: Upid, options: WaitOptions = {}): Promise<TaskResult> {
    const watch = new Watch(this.#parts, upid, options);
    try {
      return await watch.untilEnd();
    } catch (thrown) {
      throw isCanceled(thrown) ? waitCanceled(watch.context, thrown) : thrown;
    }
  }
}

/** One wait, with what it has seen so far. */
class Watch {
  readonly context: TaskContext;
  readonly #parts: TaskWaiterParts;
  readonly #options: WaitOptions;
  readonly #tasks: NodeTasks;
  readonly #startedAt: Instant;
  readonly #timeoutMs: number;
  #lastSight = '';
  #unknownSince: Instant | undefined;
  #unclearLooks = 0;
  #linesSeen = 0;
  /** Of answers in a row that make no sense. */
  readonly #answers: Attempts;
  /** Told from how far it was at the last look. */
  #expectedEnd: Instant | undefined;
  #isLate = false;

  constructor(parts: TaskWaiterParts, upid: Upid, options: WaitOptions) {
    const node = parseUpid(upid)?.node;
    invariant(node, `${upid} is not a UPID.`);
    this.#parts = parts;
    this.#options = options;
    this.#tasks = new NodeTasks(parts.api, node);
    this.#startedAt = parts.clock.now();
    this.#answers = new Attempts(RETRIES.taskStatus, parts);
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.context = { upid, endpoint: parts.endpoint, principal: parts.principal };
  }

  async untilEnd(): Promise<TaskResult> {
    const { clock } = this.#parts;
    let pauseMs = FIRST_PAUSE_MS;
    for (let poll = 1; ; poll++) {
      const remainingMs = this.#startedAt + this.#timeoutMs - clock.now();
      await clock.sleep(Math.min(pauseMs, Math.max(0, remainingMs)), this.#options.signal);
      const sight = await this.#look();
      this.#log(poll, sight);
      const end = await this.#judge(sight);
      if (end) return this.#conclude(end);
      await this.#reportProgress();
      if (clock.now() - this.#startedAt >= this.#timeoutMs) throw await this.#timeOut();
      pauseMs = this.#nextPauseMs(pauseMs);
    }
  }

  /**
   * Longer each time; but a task that says how far it is gets asked when it should be done, not up to a whole pause later,
   * and one that is late is asked as if it had just begun.
   */
  #nextPauseMs(lastMs: number): number {
    const longerMs = Math.min(MAX_PAUSE_MS, Math.round(lastMs * 1.4));
    if (this.#expectedEnd === undefined) return longerMs;
    const aheadMs = Math.ceil(this.#expectedEnd - this.#parts.clock.now());
    const wasLate = this.#isLate;
    this.#isLate = aheadMs <= 0;
    if (this.#isLate) return wasLate ? longerMs : FIRST_PAUSE_MS;
    return Math.max(FIRST_PAUSE_MS, Math.min(longerMs, aheadMs));
  }

  async #look(): Promise<Sight> {
    const { upid } = this.context;
    const { signal } = this.#options;
    try {
      // Sent once: the next poll is the repetition, and one that keeps to the scheduler's bound.
      const question = () => this.#tasks.status(upid, { signal, timeoutMs: POLL_TIMEOUT_MS, attempts: 1 });
      const status = await this.#parts.scheduler.poll(question, signal);
      this.#answers.restart();
      if (status.status === 'running') return { kind: 'running' };
      return { kind: 'ended', end: readExitStatus(status.exitstatus) };
    } catch (thrown) {
      if (isNotFound(thrown, 'task')) return { kind: 'unknown' };
      return { kind: 'unreachable', reason: this.#excuse(thrown) };
    }
  }

  /** The code of an error that says nothing about the task; any other error is thrown on. */
  #excuse(thrown: unknown): string {
    // A connection may be away until the wait is over; a server that talks nonsense is believed after some times.
    const isExcused = isConnectionTrouble(thrown) || this.#answers.next(thrown) !== undefined;
    if (!isExcused || !(thrown instanceof ProxwrightError)) throw thrown;
    return thrown.code;
  }

  /** How it ended, or `undefined` while that is open. */
  async #judge(sight: Sight): Promise<TaskEnd | undefined> {
    const now = this.#parts.clock.now();
    if (sight.kind === 'unknown') {
      this.#unknownSince ??= now;
      const unknownMs = now - this.#unknownSince;
      if (unknownMs >= UNKNOWN_GRACE_MS) throw taskVanished(this.context, unknownMs);
      return undefined;
    }
    this.#unknownSince = undefined;
    if (sight.kind !== 'ended') return undefined;
    if (sight.end.kind !== 'unclear') return sight.end;
    this.#unclearLooks++;
    const [lastLine] = await this.#tail(1);
    return readLastLogLine(lastLine) ?? (this.#unclearLooks >= UNCLEAR_LOOKS ? sight.end : undefined);
  }

  async #conclude(end: TaskEnd): Promise<TaskResult> {
    const { upid } = this.context;
    const waitedMs = this.#parts.clock.now() - this.#startedAt;
    const count = this.#options.logLines ?? 10;
    this.#parts.logger.log('debug', `${taskName(upid)} ended after ${durationText(waitedMs)}: ${end.kind}`, {
      upid,
      waitedMs,
    });
    switch (end.kind) {
      case 'ok':
        await this.#reportProgress();
        return { upid, outcome: 'ok', warnings: 0, log: [], waitedMs };
      case 'warnings': {
        const lines = await this.#tail(Math.max(count, 50));
        const warning = lines.filter((line) => /^(WARN|warning)/i.test(line));
        const log = warning.length > 0 ? warning : lines.slice(-count);
        return { upid, outcome: 'warnings', warnings: end.warnings, log, waitedMs };
      }
      case 'failed':
        throw taskFailed(this.context, end.text, await this.#tail(count));
      case 'unclear':
        throw taskUnclear(this.context, end.text, await this.#tail(count));
    }
  }

  async #timeOut(): Promise<Error> {
    return taskTimedOut(this.context, this.#timeoutMs, (await this.#tail(1))[0]);
  }

  async #reportProgress(): Promise<void> {
    const { onProgress } = this.#options;
    if (!onProgress) return;
    const lines = await linesAfter(this.#tasks, this.context.upid, this.#linesSeen, this.#logOptions());
    if (lines.length === 0) return;
    this.#linesSeen += lines.length;
    const fraction = fractionIn(lines);
    const elapsedMs = this.#parts.clock.now() - this.#startedAt;
    if (fraction !== undefined && fraction > 0) this.#expectedEnd = this.#startedAt + elapsedMs / fraction;
    onProgress({ upid: this.context.upid, elapsedMs, lines, ...(fraction !== undefined && { fraction }) });
  }

  #tail(count: number): Promise<string[]> {
    return lastLines(this.#tasks, this.context.upid, count, this.#logOptions());
  }

  #logOptions() {
    return { signal: this.#options.signal, timeoutMs: POLL_TIMEOUT_MS };
  }

  /** The first poll, every tenth, and every change; the rest would drown them. */
  #log(poll: number, sight: Sight): void {
    const changed = sight.kind !== this.#lastSight;
    this.#lastSight = sight.kind;
    if (!changed && poll % 10 !== 0) return;
    const { upid } = this.context;
    const reason = sight.kind === 'unreachable' ? ` (${sight.reason})` : '';
    const elapsedMs = this.#parts.clock.now() - this.#startedAt;
    const message = `${taskName(upid)}: ${sight.kind}${reason}, poll ${poll}, ${durationText(elapsedMs)}`;
    this.#parts.logger.log('debug', message, { upid, poll, state: sight.kind });
  }
}
