/** Earlier runs: a table of all, or one run step by step. */
import { counted, printDuration } from '../../../base/values/units.ts';
import type { RunRecord, StepRecord } from '../../../engine/record/run-record.ts';
import type { RunSource } from '../../../state/events.ts';
import { type Terminal, toType } from '../../terminal.ts';
import type { Paint, Style } from '../text/paint.ts';
import { renderTable } from '../text/table.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface RunList {
  /** How many runs the store has, whatever the filter. */
  readonly all: number;
  readonly isOfThisMachineOnly: boolean;
}

export interface RunsView {
  list(runs: readonly RunRecord[], of: RunList): void;
  run(run: RunRecord): void;
}

export function runsView(deps: ViewDeps): RunsView {
  return chooseView<RunsView>(deps, {
    human: ({ terminal, print, paint }) => ({
      list: (runs, of) => {
        if (runs.length > 0) print(renderRuns(runs, paint));
        else if (of.all > 0) terminal.log('info', `None of the ${counted(of.all, 'run')} matches.`);
        else terminal.log('info', `There is no run yet. To start the first one: ${toType(terminal, 'apply')}`);
        sayWhose(of, terminal);
      },
      run: (run) => print(renderRun(run, paint)),
    }),
    json: ({ print, terminal }) => ({
      list: (runs, of) => {
        print(runs.map(toJson).map(({ steps, vms, ...run }) => ({ ...run, vms: vms.length, steps: steps.length })));
        sayWhose(of, terminal);
      },
      run: (run) => print(toJson(run)),
    }),
  });
}

function sayWhose({ isOfThisMachineOnly }: RunList, terminal: Terminal): void {
  if (!isOfThisMachineOnly) return;
  terminal.log(
    'info',
    'This store keeps no journals: these are the runs of this machine, and others may have run since.',
  );
}

const OUTCOME_STYLES: Readonly<Record<RunRecord['outcome'], Style>> = {
  done: 'green',
  failed: 'red',
  canceled: 'yellow',
  interrupted: 'yellow',
  unfinished: 'yellow',
};

function renderRuns(runs: readonly RunRecord[], paint: Paint): string[] {
  const rows = runs.map(({ runId, startedAt, command, outcome, resources, durationMs, who, source }) => [
    runId,
    startedAt?.replace(/\.\d+Z$/, 'Z') ?? '',
    command,
    paint(OUTCOME_STYLES[outcome], outcome),
    String(resources.filter(isStarted).length),
    took(durationMs),
    source?.ci?.user ?? who ?? '',
    source?.ci?.system ?? source?.host ?? '',
    commitOf(source, SHORT_COMMIT),
  ]);
  return renderTable(['run', 'began', 'command', 'outcome', 'VMs', 'took', 'by', 'from', 'commit'], rows, paint);
}

const SHORT_COMMIT = 8;

/** `1a2b3c4d main, changed`. */
function commitOf(source: RunSource | undefined, digits?: number): string {
  if (!source?.repository) return '';
  const { commit, branch = '', dirty } = source.repository;
  return `${commit.slice(0, digits)} ${branch}`.trimEnd() + (dirty ? ', changed' : '');
}

function renderRun(run: RunRecord, paint: Paint): string[] {
  const head = [
    ['run', run.runId],
    ['command', run.source?.commandLine ?? run.command],
    ['by', run.who ?? ''],
    ['from', run.source?.host ?? ''],
    ['commit', commitOf(run.source)],
    ['job', [run.source?.ci?.system, run.source?.ci?.user, run.source?.ci?.url].filter(Boolean).join(', ')],
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

/** The stable format for programs, independent of the internal record. */
function toJson({ resources, steps, notes, planned: _planned, requests: _requests, ...run }: RunRecord) {
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
