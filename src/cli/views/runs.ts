/** Earlier runs: a table of all, or one run step by step. */
import { printDuration } from '../../base/units.ts';
import type { RunRecord, StepRecord } from '../../engine/runs.ts';
import type { Paint, Style } from './paint.ts';
import { renderTable } from './table.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface RunsView {
  list(runs: readonly RunRecord[]): void;
  run(run: RunRecord): void;
}

export function runsView(deps: ViewDeps): RunsView {
  return chooseView<RunsView>(deps, {
    human: ({ terminal, print, paint }) => ({
      list: (runs) => {
        if (runs.length > 0) print(renderRuns(runs, paint));
        else terminal.log('info', 'There is no run yet. To start the first one: proxwright apply');
      },
      run: (run) => print(renderRun(run, paint)),
    }),
    json: ({ print }) => ({
      list: (runs) => print(runs.map(({ steps, vms, ...run }) => ({ ...run, vms: vms.length, steps: steps.length }))),
      run: (run) => print(run),
    }),
  });
}

const OUTCOME_STYLES: Readonly<Record<RunRecord['outcome'], Style>> = {
  done: 'green',
  failed: 'red',
  canceled: 'yellow',
  interrupted: 'yellow',
  unfinished: 'yellow',
};

function renderRuns(runs: readonly RunRecord[], paint: Paint): string[] {
  const rows = runs.map(({ runId, startedAt, command, outcome, vms, durationMs, who }) => [
    runId,
    startedAt?.replace(/\.\d+Z$/, 'Z') ?? '',
    command,
    paint(OUTCOME_STYLES[outcome], outcome),
    String(vms.length),
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
  const blocks = run.vms.flatMap((vm) => [
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
    ...run.notes.map((note) => `note     ${note}`),
    ...blocks,
  ];
}

function stepName({ step, action }: StepRecord): string {
  const [, , ...parts] = step.split('/');
  return [action, ...parts].join(' ');
}

function resultOf({ outcome, problem, tasks }: StepRecord, paint: Paint): string {
  if (outcome === 'failed') return paint('red', `failed: ${problem?.code ?? ''}`);
  if (outcome === 'open')
    return paint('yellow', tasks.at(-1) === undefined ? 'not ended' : `not ended: ${tasks.at(-1)}`);
  return paint('green', 'done');
}

const took = (ms: number | undefined) => (ms === undefined ? '' : printDuration(ms));
