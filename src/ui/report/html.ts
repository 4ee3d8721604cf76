/**
 * The report of a run as one HTML file that needs nothing else: the timeline, failures with their reasons, waits, the
 * critical path, and every step in a table. It has no script and loads nothing; its policy allows neither. Pure.
 */
import { createHash } from 'node:crypto';
import { printDuration } from '../../base/values/units.ts';
import { nameOfStep } from '../../engine/record/run-moments.ts';
import type { RunRecord, StepRecord } from '../../engine/record/run-record.ts';
import { type Chart, chartOf, WAITS } from '../picture/chart.ts';
import { escaped } from '../picture/markup.ts';
import { timelineStyle } from '../picture/style.ts';
import { describeChart, drawTimeline } from '../picture/timeline.ts';

export interface ReportInput {
  readonly stack: string;
  readonly run: RunRecord;
  /** The prediction of the run. */
  readonly prediction?: RunRecord | undefined;
  /** The end of the picture for a run that has not ended. */
  readonly now?: number | undefined;
}

export function renderReport({ stack, run, prediction, now }: ReportInput): string {
  const chart = chartOf(run, now);
  const expected = prediction && chartOf(prediction);
  const style = `${REPORT_STYLE}${timelineStyle()}`;
  const title = `${run.command} of ${stack}: ${outcomeWords(run)}`;
  const sections = [
    failures(chart),
    comparison(chart, expected),
    waits(chart),
    criticalSteps(chart),
    notes(run),
    steps(run),
  ].filter((text) => text !== '');
  const hash = createHash('sha256').update(style).digest('base64');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<a class="skip" href="#steps">Skip to the table of steps</a>
<header>
<h1>${escaped(title)}</h1>
<p>${escaped(describeChart(chart, expected))}</p>
${facts(run)}
${contents(sections)}
</header>
<main>
<section aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Timeline, scrolls sideways on a narrow screen">
${drawTimeline(chart, { prediction: expected, hasStyle: false })}
</div>
${chart.requests.length > 0 ? '' : '<p class="hint">The journal of this run does not say how many requests it sent.</p>'}
</section>
${sections.join('\n')}
</main>
</body>
</html>
`;
}

/** A link to each section: with 300 resources the picture alone is several screens high. */
function contents(sections: readonly string[]): string {
  const links = sections.flatMap((text) => {
    const [, id, title] = /<h2 id="([a-z]+)">([^<]*)<\/h2>/.exec(text) ?? [];
    return id === undefined ? [] : [`<a href="#${id}">${title}</a>`];
  });
  return `<nav aria-label="Sections">${links.join(' ')}</nav>`;
}

function outcomeWords({ outcome, durationMs }: RunRecord): string {
  return durationMs === undefined ? outcome : `${outcome} after ${printDuration(durationMs)}`;
}

function facts({ runId, who, source, startedAt, endedAt, outcome }: RunRecord): string {
  const repository = source?.repository;
  const rows = [
    ['run', runId],
    ['outcome', outcome],
    ['began', startedAt && momentOf(startedAt)],
    ['ended', endedAt && momentOf(endedAt)],
    ['by', [who, source?.ci?.user].filter(Boolean).join(', ')],
    ['from', [source?.host, source?.ci?.system].filter(Boolean).join(', ')],
    ['command', source?.commandLine],
    [
      'commit',
      repository &&
        `${repository.commit.slice(0, 12)} ${repository.branch ?? ''}${repository.dirty ? ', changed' : ''}`,
    ],
  ] as const;
  const shown = rows.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`<div><dt>${name}</dt><dd>${escaped(value)}</dd></div>`],
  );
  return `<dl>${shown.join('')}</dl>`;
}

/** `2026-11-18 11:05:03 UTC`. */
const momentOf = (at: string) => at.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC');

function failures({ rows }: Chart): string {
  const failed = rows.filter(({ problem }) => problem);
  if (failed.length === 0) return '';
  const items = failed.map(({ address, status, problem }) => {
    const { code = '', summary = '', detail = '', hint } = problem ?? {};
    const help = hint === undefined ? '' : `<p class="hint">${escaped(hint)}</p>`;
    return `<li><h3>${escaped(address)} <small>${escaped(status)}</small></h3><p><strong>${escaped(summary)}</strong> <code>${escaped(code)}</code></p><pre>${escaped(detail)}</pre>${help}</li>`;
  });
  return `<section aria-labelledby="failed"><h2 id="failed">What failed</h2><ul class="failures">${items.join('')}</ul></section>`;
}

function comparison(chart: Chart, expected: Chart | undefined): string {
  if (!expected) return '';
  const byAddress = new Map(expected.rows.map((row) => [row.address, endOf(row.bars)]));
  const rows = chart.rows.map(({ address, bars }) => {
    const [predicted, actual] = [byAddress.get(address), endOf(bars)];
    return [address, predicted === undefined ? '' : printDuration(predicted), printDuration(actual)];
  });
  const all = ['the whole run', printDuration(expected.spanMs), printDuration(chart.spanMs)];
  return section('predicted', 'Predicted and actual end', ['resource', 'predicted', 'actual'], [all, ...rows]);
}

const endOf = (bars: Chart['rows'][number]['bars']) => Math.max(0, ...bars.map(({ toMs }) => toMs));

function waits({ rows }: Chart): string {
  const all = rows
    .flatMap(({ address, bars }) => bars.filter(({ kind }) => WAITS.includes(kind)).map((bar) => ({ address, ...bar })))
    .toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs));
  const cells = all.map(({ address, label, fromMs, toMs, words }) => [
    address,
    label,
    `+${printDuration(fromMs)}`,
    printDuration(toMs - fromMs),
    words.split('\n').slice(1).join(' '),
  ]);
  return section('waits', 'What it waited for', ['resource', 'waited for', 'from', 'how long', 'why'], cells);
}

const FOLLOWS = {
  start: 'the start of the run',
  step: 'the step before it',
  resource: 'a resource it depends on',
  roll: 'the member of its group before it',
  turn: 'its turn: this is inferred from the times',
} as const;

function criticalSteps({ path }: Chart): string {
  const cells = path.map(({ address, name, fromMs, toMs, follows }) => [
    address,
    name,
    `+${printDuration(fromMs)}`,
    printDuration(toMs - fromMs),
    FOLLOWS[follows],
  ]);
  return section('critical', 'Critical path', ['resource', 'step', 'from', 'took', 'started after'], cells);
}

function notes({ notes: all, startedAt }: RunRecord): string {
  const cells = all.map(({ at, address = '', text, wait }) => [since(startedAt, at), address, text, wait?.said ?? '']);
  return section('notes', 'Retries and notes', ['at', 'resource', 'what', 'the server said'], cells);
}

function steps(run: RunRecord): string {
  const cells = run.resources.flatMap((resource) =>
    resource.steps.map((step) => [
      resource.address,
      nameOfStep(step),
      since(run.startedAt, step.startedAt),
      step.durationMs === undefined ? '' : printDuration(step.durationMs),
      step.outcome === 'open' ? 'not ended' : step.outcome,
      wordsOf(step),
    ]),
  );
  return section(
    'steps',
    'Steps',
    ['resource', 'step', 'at', 'took', 'result', 'tasks and words of the server'],
    cells,
  );
}

function wordsOf({ tasks, problem }: StepRecord): string {
  return [...tasks.map(({ upid }) => upid), ...(problem ? [`${problem.code}: ${problem.detail}`] : [])].join('\n');
}

function since(start: string | undefined, at: string): string {
  return start === undefined ? at : `+${printDuration(Math.max(0, Date.parse(at) - Date.parse(start)))}`;
}

/** A table with more rows than this scrolls in itself, so that the next section is not thousands of lines away. */
const MOST_ROWS = 40;

/** Empty sections are left out, but for the steps, which the page links to. */
function section(id: string, title: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0 && id !== 'steps') return '';
  const head = columns.map((name) => `<th scope="col">${escaped(name)}</th>`).join('');
  const body = rows.map(([first = '', ...rest]) => {
    const cells = rest.map((cell) => `<td>${escaped(cell)}</td>`).join('');
    return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`;
  });
  const scroll = rows.length > MOST_ROWS ? 'scroll long' : 'scroll';
  return `<section aria-labelledby="${id}"><h2 id="${id}">${escaped(title)}</h2><div class="${scroll}" tabindex="0" role="region" aria-labelledby="${id}"><table><thead><tr>${head}</tr></thead><tbody>
${body.join('\n')}
</tbody></table></div></section>`;
}

/** Quiet, in light and dark, on paper as well. */
const REPORT_STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1b2430;--muted:#586374;--line:#e4e8ee;--soft:#f6f7f9;--accent:#1d5a99;--bad:#b42318}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--muted:#9aa6b6;--line:#262d37;--soft:#181d25;--accent:#7fb0e8;--bad:#ff8a7e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:2rem 1.5rem 4rem;background:var(--paper);color:var(--ink);font:15px/1.5 ui-sans-serif,system-ui,"Segoe UI","Helvetica Neue",Arial,sans-serif}
h1{font-size:1.5rem;margin:0 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.05rem;margin:2.5rem 0 .75rem}
h3{font-size:1rem;margin:0}
h3 small{font-weight:400;color:var(--muted)}
header p{color:var(--muted);margin:.25rem 0 1rem;max-width:75ch}
dl{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:0}
dt{font-size:.78rem;color:var(--muted)}
dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
.scroll svg{display:block;max-width:100%;height:auto;min-width:860px}
.long{max-height:34rem;overflow:auto}
.long thead th{position:sticky;top:0}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin-top:1.25rem;font-size:.9rem}
table{border-collapse:collapse;width:100%;font-size:.87rem}
th,td{text-align:left;padding:.35rem .8rem;border-bottom:1px solid var(--line);vertical-align:top;font-weight:400;font-variant-numeric:tabular-nums}
td:last-child{white-space:pre-wrap;overflow-wrap:anywhere}
thead th{color:var(--muted);font-size:.78rem;background:var(--soft)}
tbody tr:last-child>*{border-bottom:0}
.failures{list-style:none;margin:0;padding:0}
.failures li{border-left:3px solid var(--bad);padding:.25rem 0 .25rem 1rem;margin-bottom:1.25rem}
.failures p{margin:.25rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--soft);padding:.75rem;border-radius:6px;margin:.5rem 0;font-size:.85rem}
code{font-size:.85em;color:var(--muted)}
.hint{color:var(--muted)}
a{color:var(--accent)}
.skip{position:absolute;left:-999px}
.skip:focus{position:static}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media print{body{max-width:none;padding:0}.scroll{overflow:visible;border:0;max-height:none}nav,.skip{display:none}}
`;
