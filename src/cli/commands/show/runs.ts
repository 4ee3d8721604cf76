/** `proxwright runs`: what earlier runs did, who started them and where, how long they took; also as metrics. */
import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseDuration } from '../../../base/values/units.ts';
import { describeRun, type RunRecord } from '../../../engine/record/run-record.ts';
import { listRuns, readRun } from '../../../state/journal.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { RUN_OUTCOMES } from '../../options.ts';
import { openStack } from '../../stack/open.ts';
import { findRun } from '../../stack/recorded-run.ts';
import { runMetrics } from '../../views/run/run-metrics.ts';
import { runsView } from '../../views/show/runs.ts';
import { unwritable } from '../../write-file.ts';

export interface RunsShowOptions extends StackOptions {
  readonly metrics?: string;
}

export interface RunsOptions extends RunsShowOptions {
  readonly user?: string;
  readonly host?: string;
  readonly outcome?: string;
  readonly command?: string;
  readonly since?: string;
}

export async function runRuns(options: RunsOptions, deps: CommandDeps): Promise<ExitCode> {
  const since = sinceOf(options.since, deps.clock.now());
  const isShown = filterOf(options);
  const { stack, store } = await openStack(options, deps);
  const ids = await listRuns(store);
  // A run id begins with the time of the start, so that runs before it need not be read.
  const recent = since === undefined ? ids : ids.filter((id) => id >= since);
  const runs = (await Promise.all(recent.map((id) => readRun(store, id)))).map(describeRun).filter(isShown);
  const last = runs.at(-1);
  if (options.metrics !== undefined && last) await writeMetrics(options.metrics, stack.name, last, deps);
  runsView(deps).list(runs, { all: ids.length, isOfThisMachineOnly: store.journalsAreLocal === true });
  return 0;
}

/** Every filter that is given must match. */
function filterOf({ user, host, outcome, command: name }: RunsOptions): (run: RunRecord) => boolean {
  const known = RUN_OUTCOMES.find((each) => each === outcome);
  if (outcome !== undefined && !known) {
    throw badOption('--outcome', `There is no outcome "${outcome}".`, `Choose one of ${RUN_OUTCOMES.join(', ')}.`);
  }
  return (run) =>
    (user === undefined || run.who === user || run.source?.ci?.user === user) &&
    (host === undefined || run.source?.host === host) &&
    (known === undefined || run.outcome === known) &&
    (name === undefined || run.command === name || run.command.startsWith(`${name} `));
}

const DAYS = /^(\d{1,5})d$/;
const DATE = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/;

/** `7d`, `12h` or a date, as the beginning of a run id; undefined without the option. */
function sinceOf(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const days = DAYS.exec(text)?.[1];
  const ago = days === undefined ? parseDuration(text) : Number(days) * 24 * 3_600_000;
  const at = ago === undefined ? (DATE.test(text) ? Date.parse(text) : Number.NaN) : now - ago;
  if (Number.isFinite(at) && at >= 0) return new Date(at).toISOString().replace(/[-:]/g, '').slice(0, 15);
  throw badOption(
    '--since',
    `"${text}" is not a time.`,
    'Write how long ago, such as 12h or 7d, or a date: 2026-01-31.',
  );
}

export async function runRunsShow(id: string, options: RunsShowOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const run = describeRun(await readRun(store, await findRun(store, id)));
  if (options.metrics !== undefined) await writeMetrics(options.metrics, stack.name, run, deps);
  runsView(deps).run(run);
  return 0;
}

/** The collector may be another user, and must never read a partial file. */
async function writeMetrics(file: string, stack: string, run: RunRecord, deps: CommandDeps): Promise<void> {
  const path = resolve(deps.directory, file);
  try {
    await writeFile(`${path}.new`, runMetrics(stack, run));
    await rename(`${path}.new`, path);
  } catch (error) {
    throw unwritable(file, error);
  }
  deps.terminal.log('info', `Wrote the metrics of run ${run.runId} to ${file}.`);
}
