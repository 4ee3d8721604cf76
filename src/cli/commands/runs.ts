/** `proxwright runs`: what earlier runs did, how long it took, and what failed; also as metrics. */
import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { closest } from '../../base/text/closest.ts';
import { describeRun, type RunRecord } from '../../engine/run-record.ts';
import { listRuns, readRun, readRuns } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../command.ts';
import { openStack } from '../stack/open.ts';
import { runMetrics } from '../views/run/run-metrics.ts';
import { runsView } from '../views/runs.ts';
import { unwritable } from '../write-file.ts';

export interface RunsOptions extends StackOptions {
  readonly metrics?: string;
}

export async function runRuns(options: RunsOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const runs = (await readRuns(store)).map(describeRun);
  const last = runs.at(-1);
  if (options.metrics !== undefined && last) await writeMetrics(options.metrics, stack.name, last, deps);
  runsView(deps).list(runs);
  return 0;
}

export async function runRunsShow(id: string, options: RunsOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const run = describeRun(await readRun(store, await findRun(store, id)));
  if (options.metrics !== undefined) await writeMetrics(options.metrics, stack.name, run, deps);
  runsView(deps).run(run);
  return 0;
}

/** `last`, an id, or the beginning or end of exactly one id. */
async function findRun(store: StateStore, text: string): Promise<string> {
  const ids = await listRuns(store);
  const last = ids.at(-1);
  if (text === 'last' && last !== undefined) return last;
  const matching = ids.filter((id) => id === text || id.startsWith(text) || id.endsWith(text));
  const [only] = matching;
  if (only !== undefined && (matching.length === 1 || ids.includes(text))) return ids.includes(text) ? text : only;
  const guess = closest(text, ids);
  if (last === undefined) {
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      detail: 'There is no run yet.',
      hint: advice`To start the first one: ${command('apply')}`,
    });
  }
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: matching.length > 1 ? `"${text}" matches ${matching.length} runs.` : `There is no run "${text}".`,
    hint: guess ? `Did you mean ${guess}?` : advice`To list the runs: ${command('runs')}`,
  });
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
