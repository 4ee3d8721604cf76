/** A rehearsal: the timeline, the end with its range, the room it takes, what would fail, and what was assumed. */
import { groupAddress } from '../../../base/address.ts';
import { commandText } from '../../../base/hint.ts';
import { groupedBy } from '../../../base/values/groups.ts';
import { counted, printDuration } from '../../../base/values/units.ts';
import { nameOfStep } from '../../../engine/record/run-moments.ts';
import type { StepRecord } from '../../../engine/record/run-record.ts';
import type { Peak } from '../../../rehearse/peaks.ts';
import type { Rehearsal } from '../../../rehearse/rehearse.ts';
import type { Interruptions, Storms, TrialFailure } from '../../../rehearse/trial/interrupt.ts';
import type { Paint } from '../text/paint.ts';
import { renderTable } from '../text/table.ts';
import { chooseView, showProblems, type ViewDeps } from '../view.ts';

export interface ShownRehearsal {
  readonly stack: string;
  readonly rehearsal: Rehearsal;
  /** Requests to the live cluster. */
  readonly reads: number;
  readonly interruptions?: Interruptions;
  readonly storms?: Storms;
}

export interface RehearsalView {
  rehearsal(shown: ShownRehearsal): void;
}

export function rehearsalView(deps: ViewDeps): RehearsalView {
  return chooseView<RehearsalView>(deps, {
    human: ({ print, paint }) => ({
      rehearsal: (shown) => {
        print(renderRehearsal(shown, paint));
        showProblems(shown.rehearsal.problems, deps);
      },
    }),
    json: ({ print }) => ({ rehearsal: (shown) => print(documentOf(shown)) }),
  });
}

export function documentOf({ stack, rehearsal, reads, interruptions, storms }: ShownRehearsal) {
  const { ok, run, tookMs, fastestMs, slowestMs, peaks, order, warnings, problems, planDifferences } = rehearsal;
  const { durations, assumptions } = rehearsal;
  return {
    stack,
    ok,
    tookMs,
    fastestMs,
    slowestMs,
    run,
    peaks,
    order,
    warnings,
    problems,
    planDifferences,
    durations,
    assumptions,
    reads,
    ...(interruptions && { interruptions }),
    ...(storms && { storms }),
  };
}

const GIB = 1024 ** 3;
const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`;

export function renderRehearsal(shown: ShownRehearsal, paint: Paint): string[] {
  const { rehearsal, reads, interruptions, storms } = shown;
  const { run, ok, tookMs, fastestMs, slowestMs, planDifferences } = rehearsal;
  const title = (text: string) => ['', paint('bold', text)];
  const list = (text: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [...title(text), ...lines.map((line) => `  ${line}`)];
  const table = (text: string, head: readonly string[], rows: readonly (readonly string[])[]) =>
    rows.length === 0 ? [] : [...title(text), ...renderTable(head, rows, paint)];
  const range = `between ${printDuration(fastestMs)} and ${printDuration(slowestMs)}`;
  const isEmptyRun = run.steps.length === 0;
  const verdict = ok
    ? isEmptyRun
      ? paint('green', 'Nothing to do: an apply would change nothing.')
      : paint('green', `The apply succeeds after ${printDuration(tookMs)}, ${range}.`)
    : paint('red', `The apply would fail: ${counted(rehearsal.problems.length, 'problem')}.`);
  return [
    ...(isEmptyRun
      ? []
      : table(
          'Predicted timeline',
          ['resource', 'begins', 'ends', 'outcome', 'longest steps'],
          timelineRows(rehearsal),
        )),
    ...table('Order of starts and restarts', ['at', 'what', 'resource'], orderRows(rehearsal)),
    ...(isEmptyRun ? [] : table('Peak use', ['node', 'what', 'now', 'at the peak', 'of'], peakRows(rehearsal))),
    ...(isEmptyRun ? [] : list('Durations', rehearsal.durations)),
    ...(isEmptyRun ? [] : list('Assumed', rehearsal.assumptions)),
    ...list('The rehearsed plan differs from the real one', planDifferences),
    ...(interruptions ? ['', ...interruptionLines(interruptions, paint)] : []),
    ...(storms ? ['', ...stormLines(storms, paint)] : []),
    '',
    verdict,
    paint('dim', `${counted(reads, 'request')} to the cluster, all of them reads. Nothing was changed.`),
  ];
}

/** With more resources than this, members of a group that end alike share a row; whatever fails keeps its own. */
const MOST_ROWS = 30;

function timelineRows({ run }: Rehearsal): string[][] {
  const start = Date.parse(run.startedAt ?? '');
  const since = (at: number) => (Number.isFinite(at) ? `+${printDuration(at - start)}` : '');
  const isLong = run.resources.length > MOST_ROWS;
  const groups = groupedBy(run.resources, ({ address, status }) =>
    isLong && status === 'done' ? groupAddress(address) : address,
  );
  return [...groups].map(([name, members]) => {
    const times = (each: 'startedAt' | 'endedAt') => members.flatMap((member) => member[each] ?? []).map(Date.parse);
    return [
      members.length === 1 ? (members[0]?.address ?? name) : `${name} (${members.length})`,
      since(Math.min(...times('startedAt'))),
      since(Math.max(...times('endedAt'))),
      members[0]?.status ?? '',
      longestSteps(members.flatMap(({ steps }) => steps)).join(', '),
    ];
  });
}

/** The three that take longest; of a step that several members have, the longest. */
function longestSteps(steps: readonly StepRecord[]): string[] {
  return [...groupedBy(steps, nameOfStep)]
    .map(([name, same]) => [name, Math.max(...same.map(({ durationMs = 0 }) => durationMs))] as const)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .filter(([, durationMs]) => durationMs >= 100)
    .map(([name, durationMs]) => `${name} ${printDuration(durationMs)}`);
}

/** In a long list, members of a group that start one after the other share a row. */
function orderRows({ order }: Rehearsal): string[][] {
  const isLong = order.length > MOST_ROWS;
  const spans: { first: Start; last: Start; count: number }[] = [];
  for (const next of order) {
    const span = spans.at(-1);
    const isNext =
      span && span.last.what === next.what && groupAddress(span.last.address) === groupAddress(next.address);
    if (isLong && isNext) Object.assign(span, { last: next, count: span.count + 1 });
    else spans.push({ first: next, last: next, count: 1 });
  }
  return spans.map(({ first, last, count }) => {
    const from = `+${printDuration(first.afterMs)}`;
    if (count === 1) return [from, first.what, first.address];
    return [`${from} to +${printDuration(last.afterMs)}`, first.what, `${groupAddress(first.address)} (${count})`];
  });
}

type Start = Rehearsal['order'][number];

function peakRows({ peaks }: Rehearsal): string[][] {
  const grows = ({ peakBytes, beforeBytes }: Peak) => peakBytes > beforeBytes;
  const shared = new Map(
    peaks.flatMap(({ storages }) => storages.filter((each) => each.shared).map((each) => [each.storage, each])),
  );
  return [
    ...peaks.flatMap(({ node, memory, storages }) => [
      ...(grows(memory) ? [[node, 'memory', ...peakCells(memory)]] : []),
      ...storages.filter((each) => !each.shared && grows(each)).map((peak) => [node, peak.storage, ...peakCells(peak)]),
    ]),
    ...[...shared.values()].filter(grows).map((peak) => ['shared', peak.storage, ...peakCells(peak)]),
  ];
}

function peakCells({ beforeBytes, peakBytes, totalBytes }: Peak) {
  return [gib(beforeBytes), gib(peakBytes), gib(totalBytes)];
}

export function interruptionLines({ points, resumed, failures }: Interruptions, paint: Paint): string[] {
  if (failures.length === 0) {
    return [
      paint(
        'green',
        `Interrupted at ${counted(points, 'point')}, ${resumed} resumed, nothing left behind, second plan empty.`,
      ),
    ];
  }
  return [
    paint('red', `Interrupted at ${counted(points, 'point')}, ${resumed} resumed, ${failures.length} did not.`),
    ...failures.flatMap(failureLines),
  ];
}

function stormLines({ seeds, survived, strikes, failures }: Storms, paint: Paint): string[] {
  const summary = `${counted(seeds, 'storm')} with ${counted(strikes, 'fault')}: ${survived} survived`;
  return [
    failures.length === 0 ? paint('green', `${summary}.`) : paint('red', `${summary}, ${failures.length} did not.`),
    ...failures.flatMap(failureLines),
  ];
}

/** A failure here is a defect of Proxwright, and the command repeats it. */
function failureLines({ at, complaints, again }: TrialFailure): string[] {
  return [
    `  ${at}:`,
    ...complaints.map((each) => `    ${each}`),
    `    To repeat it: ${commandText('rehearse', ...again)}`,
  ];
}
