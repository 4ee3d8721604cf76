/** `proxwright runs`: what earlier runs did, how long it took, and what failed; also as metrics. */
import { rename, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { closest } from '../../base/closest.ts';
import { SpecError } from '../../base/errors.ts';
import { printDuration } from '../../base/units.ts';
import { runMetrics } from '../../engine/run-metrics.ts';
import { describeRun, type RunRecord, type StepRecord } from '../../engine/run-record.ts';
import { listRuns, readRun, readRuns } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { type Paint, paintFor, type Style } from '../views/paint.ts';
import { renderTable } from '../views/table.ts';
import { unwritable } from '../written-file.ts';

export interface RunsOptions extends StackOptions {
  readonly metrics?: string;
}

const OUTCOME_STYLES: Readonly<Record<RunRecord['outcome'], Style>> = {
  done: 'green',
  failed: 'red',
  canceled: 'yellow',
  interrupted: 'yellow',
  unfinished: 'yellow',
};

export async function runRuns(options: RunsOptions, host: CommandHost): Promise<ExitCode> {
  const { stack, store } = await openStack(options, host);
  const runs = (await readRuns(store)).map(describeRun);
  const last = runs.at(-1);
  if (options.metrics !== undefined && last) await writeMetrics(options.metrics, stack.name, last, host);
  if (host.json) {
    host.terminal.result(
      JSON.stringify(
        runs.map(toJson).map(({ steps, vms, ...run }) => ({ ...run, vms: vms.length, steps: steps.length })),
      ),
    );
  } else if (runs.length === 0) {
    host.terminal.log('info', 'There was no run yet. The first is made by: proxwright apply');
  } else {
    for (const line of renderRuns(runs, paintFor(host.stdout))) host.terminal.result(line);
  }
  return 0;
}

export async function runRunsShow(id: string, options: RunsOptions, host: CommandHost): Promise<ExitCode> {
  const { stack, store } = await openStack(options, host);
  const run = describeRun(await readRun(store, await findRun(store, id)));
  if (options.metrics !== undefined) await writeMetrics(options.metrics, stack.name, run, host);
  if (host.json) host.terminal.result(JSON.stringify(toJson(run)));
  else for (const line of renderRun(run, paintFor(host.stdout))) host.terminal.result(line);
  return 0;
}

/** `last`, an id, or what it begins or ends with, as long as that says which. */
async function findRun(store: StateStore, text: string): Promise<string> {
  const ids = await listRuns(store);
  const last = ids.at(-1);
  if (text === 'last' && last !== undefined) return last;
  const matching = ids.filter((id) => id === text || id.startsWith(text) || id.endsWith(text));
  const [only] = matching;
  if (only !== undefined && (matching.length === 1 || ids.includes(text))) return ids.includes(text) ? text : only;
  const guess = closest(text, ids);
  if (last === undefined) {
    throw new SpecError({
      code: 'MISSING_REFERENCE',
      detail: 'There was no run yet, so there is none to show.',
      hint: 'Make the first one: proxwright apply',
    });
  }
  throw new SpecError({
    code: 'MISSING_REFERENCE',
    detail: matching.length > 1 ? `"${text}" fits ${matching.length} runs.` : `There is no run "${text}".`,
    hint: guess ? `Did you mean ${guess}?` : 'See what there is: proxwright runs',
  });
}

function renderRuns(runs: readonly RunRecord[], paint: Paint): string[] {
  const rows = runs.map(({ runId, startedAt, command, outcome, resources, durationMs, who }) => [
    runId,
    startedAt?.replace(/\.\d+Z$/, 'Z') ?? '',
    command,
    paint(OUTCOME_STYLES[outcome], outcome),
    String(resources.filter(isStarted).length),
    took(durationMs),
    who ?? '',
  ]);
  return renderTable(['run', 'began', 'command', 'outcome', 'VMs', 'took', 'by'], rows, paint);
}

function renderRun(run: RunRecord, paint: Paint): string[] {
  const head = [
    ['run', run.runId],
    ['command', run.command],
    ['by', run.who ?? ''],
    ['began', run.startedAt ?? ''],
    ['ended', run.endedAt ?? ''],
    ['outcome', paint(OUTCOME_STYLES[run.outcome], run.outcome)],
    ['took', took(run.durationMs)],
  ] as const;
  const beginning = Date.parse(run.startedAt ?? '');
  const blocks = run.resources.filter(isStarted).flatMap((vm) => [
    '',
    `${paint('bold', vm.address)}  ${took(vm.durationMs)}`,
    ...renderTable(
      ['  at', 'step', 'took', 'result'],
      vm.steps.map((step) => [
        `  +${printDuration(Date.parse(step.startedAt) - beginning)}`,
        stepName(step),
        took(step.durationMs),
        resultOf(step, paint),
      ]),
      paint,
    ),
    ...vm.steps.flatMap(({ problem }) =>
      problem ? problem.detail.split('\n').map((line) => `    ${paint('red', line)}`) : [],
    ),
  ]);
  return [
    ...head.flatMap(([name, value]) => (value === '' ? [] : [`${name.padEnd(8)} ${value}`])),
    ...run.notes.map(({ text }) => `note     ${text}`),
    ...blocks,
  ];
}

function stepName({ step, action }: StepRecord): string {
  const [, , ...parts] = step.split('/');
  return [shortAction(action), ...parts].join(' ');
}

function resultOf({ outcome, problem, tasks }: StepRecord, paint: Paint): string {
  if (outcome === 'failed') return paint('red', `failed: ${problem?.code ?? ''}`);
  if (outcome === 'open')
    return paint('yellow', tasks.at(-1) === undefined ? 'not ended' : `not ended: ${tasks.at(-1)?.upid}`);
  return paint('green', 'done');
}

/** The shape that programs read; it is kept when the record behind it grows. */
function toJson({ resources, steps, notes, planned: _planned, ...run }: RunRecord) {
  const step = ({ tasks, action, ...rest }: StepRecord) => ({
    ...rest,
    action: shortAction(action),
    tasks: tasks.map(({ upid }) => upid),
  });
  const vms = resources.filter(isStarted).map(({ address, durationMs, failed, steps: own }) => ({
    address,
    steps: own.map(step),
    durationMs,
    failed,
  }));
  return { ...run, steps: steps.map(step), vms, notes: notes.map(({ text }) => text) };
}

const isStarted = ({ steps }: { readonly steps: readonly StepRecord[] }) => steps.length > 0;
const shortAction = (action: string) => action.replace(/^vm\./, '');
const took = (ms: number | undefined) => (ms === undefined ? '' : printDuration(ms));

/** Whoever collects the file may be another user, and never sees half of it. */
async function writeMetrics(file: string, stack: string, run: RunRecord, host: CommandHost): Promise<void> {
  const path = resolve(host.directory, file);
  try {
    await writeFile(`${path}.new`, runMetrics(stack, run));
    await rename(`${path}.new`, path);
  } catch (error) {
    throw unwritable(file, error);
  }
  host.terminal.log('info', `The figures of run ${run.runId} are in ${file}.`);
}
