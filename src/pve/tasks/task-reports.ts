/** Interprets what a task reports: its exit status, its progress, and its log. */
import { ProxwrightError } from '../../base/errors.ts';
import type { NodeTasks, TaskLogLine } from '../api/nodes/tasks.ts';
import type { CallOptions } from '../exchange.ts';
import type { Upid } from '../wire/ids.ts';

export type TaskEnd =
  | { readonly kind: 'ok' }
  | { readonly kind: 'warnings'; readonly warnings: number }
  | { readonly kind: 'failed'; readonly text: string }
  /** The log does not end with a status: the worker was killed, or is still writing the line. */
  | { readonly kind: 'unclear'; readonly text: string };

export function readExitStatus(exitstatus: string | undefined): TaskEnd {
  if (exitstatus === 'OK') return { kind: 'ok' };
  const warnings = /^WARNINGS: (\d+)$/.exec(exitstatus ?? '')?.[1];
  if (warnings !== undefined) return { kind: 'warnings', warnings: Number(warnings) };
  if (exitstatus === undefined || exitstatus === '') return { kind: 'unclear', text: 'no exit status' };
  if (exitstatus === 'unexpected status' || exitstatus.startsWith('unable to get last line from task log')) {
    return { kind: 'unclear', text: exitstatus };
  }
  return { kind: 'failed', text: exitstatus };
}

/** The last line of every worker: `TASK OK`, `TASK WARNINGS: n`, `TASK ERROR: text`. */
export function readLastLogLine(line: string | undefined): TaskEnd | undefined {
  const [, word, error] = /^TASK (OK|WARNINGS: \d+|ERROR: ([\s\S]*))$/.exec(line?.trim() ?? '') ?? [];
  if (word === undefined) return undefined;
  return error === undefined ? readExitStatus(word) : { kind: 'failed', text: error };
}

export interface TaskProgress {
  readonly upid: Upid;
  readonly elapsedMs: number;
  /** New lines since the last report. */
  readonly lines: readonly string[];
  /** Of the current copy, from 0 to 1; a clone with several disks counts up once per disk. */
  readonly fraction?: number;
}

const COPIED = /\btransferred [\d.]+ ?\S+ of [\d.]+ ?\S+ \((\d+(?:\.\d+)?)%\)/;
const FETCHED = /^\s*\d+[KM][ ,.]+ (\d{1,3})%/;

/**
 * The last percentage in the lines: `transferred 12.3 MiB of 1.0 GiB (1.20%)` of a copy, or the dots of wget in a
 * download: ` 32768K ........ ........ ........ ........ 12% 95.1M 6s`.
 */
export function fractionIn(lines: readonly string[]): number | undefined {
  for (const line of [...lines].reverse()) {
    const percent = (COPIED.exec(line) ?? FETCHED.exec(line))?.[1];
    if (percent !== undefined) return Math.min(1, Number(percent) / 100);
  }
  return undefined;
}

/** `trying to acquire cfs lock 'storage-nfs' ...`: of a shared storage, tried once a second. Locks of a node take moments. */
export function waitedForLock(lines: readonly string[]): boolean {
  return lines.some((line) => /^trying to acquire cfs lock /.test(line));
}

/** Lines that only say how far a copy or download was: of a failure they hide the reason. */
export function withoutProgress(lines: readonly string[]): string[] {
  return lines.filter((line) => !COPIED.test(line) && !FETCHED.test(line));
}

/** What the server returns instead of missing lines (pve-common Tools.pm dump_logfile). */
const PLACEHOLDER = /^(no content|unable to open file - .*)$/;

const PAGE_LINES = 500;

export async function lastLines(tasks: NodeTasks, upid: Upid, count: number, options?: CallOptions): Promise<string[]> {
  return orNothing(async () => {
    // The total is known only from a response.
    const { total, entries } = await tasks.log(upid, { start: 0, limit: 1 }, options);
    const start = Math.max(0, (total ?? entries.length) - count);
    return textsOf((await tasks.log(upid, { start, limit: count }, options)).entries);
  });
}

/** Lines from number `seen` on, at most one page: the next call returns the rest. */
export async function linesAfter(tasks: NodeTasks, upid: Upid, seen: number, options?: CallOptions): Promise<string[]> {
  return orNothing(async () => textsOf((await tasks.log(upid, { start: seen, limit: PAGE_LINES }, options)).entries));
}

function textsOf(lines: readonly TaskLogLine[]): string[] {
  return lines.map((line) => line.t).filter((text) => !PLACEHOLDER.test(text));
}

/** A log that cannot be read is not a reason to fail. */
async function orNothing(read: () => Promise<string[]>): Promise<string[]> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof ProxwrightError && thrown.code !== 'CANCELED') return [];
    throw thrown;
  }
}
