/** Reading the log of a task: its end, or what is new. A log that cannot be read is no reason to fail. */
import { ProxwrightError } from '../../base/errors.ts';
import type { NodeTasks, TaskLogLine } from '../api/nodes/tasks.ts';
import type { CallOptions } from '../exchange.ts';
import type { Upid } from '../wire/upid.ts';

/** What the server puts in place of lines it does not have (pve-common Tools.pm dump_logfile). */
const PLACEHOLDER = /^(no content|unable to open file - .*)$/;

const PAGE_LINES = 500;

export async function lastLines(tasks: NodeTasks, upid: Upid, count: number, options?: CallOptions): Promise<string[]> {
  return orNothing(async () => {
    // The first page would hold the beginning, and the total is known only from an answer.
    const { total, entries } = await tasks.log(upid, { start: 0, limit: 1 }, options);
    const start = Math.max(0, (total ?? entries.length) - count);
    return textsOf((await tasks.log(upid, { start, limit: count }, options)).entries);
  });
}

/** Lines from number `seen` on; asks for no more than a page, since the rest comes with the next question. */
export async function linesAfter(tasks: NodeTasks, upid: Upid, seen: number, options?: CallOptions): Promise<string[]> {
  return orNothing(async () => textsOf((await tasks.log(upid, { start: seen, limit: PAGE_LINES }, options)).entries));
}

function textsOf(lines: readonly TaskLogLine[]): string[] {
  return lines.map((line) => line.t).filter((text) => !PLACEHOLDER.test(text));
}

async function orNothing(read: () => Promise<string[]>): Promise<string[]> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof ProxwrightError && thrown.code !== 'CANCELED') return [];
    throw thrown;
  }
}
