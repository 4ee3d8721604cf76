/**
 * Draws a chart as SVG: time to the right, a row for each resource. A second chart, a prediction, is drawn over it as
 * outlines. The picture contains nothing that the tables next to it do not have. Pure; it also runs in a browser.
 */
import { counted, printDuration } from '../../base/values/units.ts';
import type { Bar, BarKind, Chart, Mark, Row } from './chart.ts';
import { escaped, fitting } from './markup.ts';
import { timelineStyle } from './style.ts';

export interface TimelineOptions {
  /** A prediction, drawn over the run. */
  readonly prediction?: Chart | undefined;
  /** Off if the page has the style sheet: a strict page allows no style in its markup. */
  readonly hasStyle?: boolean;
  /** Unique among the pictures of one page. */
  readonly id?: string;
  readonly width?: number;
  /** Instead of "apply, run ID". */
  readonly title?: string;
}

const RIGHT = 24;
const HEAD = 64;
const AXIS = 22;
const RATES = 64;
const CHARACTER = 6.3;

interface Layout {
  readonly id: string;
  readonly width: number;
  readonly left: number;
  readonly rowHeight: number;
  readonly isSmall: boolean;
  readonly spanMs: number;
  readonly x: (ms: number) => number;
  readonly y: (row: number) => number;
  readonly bottom: number;
}

const KINDS: readonly (readonly [BarKind, string])[] = [
  ['make', 'create'],
  ['configure', 'configure'],
  ['run', 'start'],
  ['guest', 'wait for the guest'],
  ['turn', 'wait for others or a turn'],
  ['lock', 'wait for a lock'],
  ['move', 'move, snapshot'],
  ['hook', 'hook'],
  ['end', 'stop, destroy'],
];

const HATCHED: readonly BarKind[] = ['guest', 'turn', 'lock'];

export function drawTimeline(chart: Chart, options: TimelineOptions = {}): string {
  const { prediction, hasStyle = true } = options;
  const rows = rowsOf(chart, prediction);
  const layout = layoutOf(chart, rows, options);
  const { width, bottom, id } = layout;
  const hasRates = chart.requests.length > 0;
  const height = bottom + AXIS + (hasRates ? RATES : 0) + 10;
  const ghosts = new Map(prediction?.rows.map((row) => [row.address, row]));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="pw-timeline" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}-title ${id}-desc">`,
    `<title id="${id}-title">${escaped(titleOf(chart, options))}</title>`,
    `<desc id="${id}-desc">${escaped(describeChart(chart, prediction))}</desc>`,
    ...(hasStyle ? [`<style>${timelineStyle()}</style>`] : []),
    hatches(id),
    `<rect class="pw-paper" width="${width}" height="${height}"/>`,
    head(chart, options, layout),
    axis(layout),
    ...rows.map((row, at) => drawRow(row, at, layout, ghosts.get(row.address))),
    path(chart, rows, layout),
    ...(prediction ? [predictedEnd(prediction, layout)] : []),
    ...(hasRates ? [rates(chart, layout)] : []),
    '</svg>',
  ].join('\n');
}

/** Resources that only the prediction has come last. */
function rowsOf(chart: Chart, prediction: Chart | undefined): readonly Row[] {
  const known = new Set(chart.rows.map(({ address }) => address));
  const others = (prediction?.rows ?? []).filter(({ address }) => !known.has(address));
  return [...chart.rows, ...others.map((row): Row => ({ ...row, status: 'waiting', bars: [], marks: [] }))];
}

function layoutOf(
  chart: Chart,
  rows: readonly Row[],
  { prediction, id = 'pw', width = 1120 }: TimelineOptions,
): Layout {
  const rowHeight = rows.length <= 16 ? 30 : rows.length <= 60 ? 22 : 14;
  const isSmall = rowHeight < 20;
  const longest = Math.max(6, ...rows.map(({ address }) => address.length));
  const left = Math.round(Math.min(260, longest * (isSmall ? 5.4 : CHARACTER) + 40));
  const spanMs = Math.max(chart.spanMs, prediction?.spanMs ?? 0);
  const scale = (width - left - RIGHT) / spanMs;
  return {
    id,
    width,
    left,
    rowHeight,
    isSmall,
    spanMs,
    x: (ms) => round(left + Math.min(ms, spanMs) * scale),
    y: (row) => HEAD + AXIS + row * rowHeight,
    bottom: HEAD + AXIS + rows.length * rowHeight,
  };
}

const round = (value: number) => Math.round(value * 10) / 10;

function titleOf({ command, runId }: Chart, { title }: TimelineOptions): string {
  return title ?? `${command}, run ${runId}`;
}

/** The picture in words, for screen readers. */
export function describeChart({ rows, spanMs, outcome, path: chain, command }: Chart, prediction?: Chart): string {
  const failed = rows
    .filter(({ status }) => status === 'failed' || status === 'notReady')
    .map(({ address }) => address);
  const retries = rows.flatMap(({ marks }) => marks).filter(({ kind }) => kind === 'retry').length;
  const warnings = rows.flatMap(({ marks }) => marks).filter(({ kind }) => kind === 'warning').length;
  const names = [...new Set(chain.map(({ address }) => address))];
  const end = outcome === 'unfinished' ? 'running for' : `${outcome} after`;
  return [
    `${command}: ${end} ${printDuration(spanMs)}, ${counted(rows.length, 'resource')}.`,
    ...(failed.length > 0 ? [`Failed: ${failed.slice(0, 5).join(', ')}${failed.length > 5 ? ' and more' : ''}.`] : []),
    ...(retries > 0 ? [`${counted(retries, 'retry', 'retries')}.`] : []),
    ...(warnings > 0 ? [`${counted(warnings, 'warning')}.`] : []),
    ...pathInWords(names),
    ...(prediction ? [`Predicted were ${printDuration(prediction.spanMs)}.`] : []),
  ].join(' ');
}

function pathInWords(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const last = names.slice(-MOST_NAMES).join(', ');
  const count = counted(names.length, 'resource');
  return [
    names.length > MOST_NAMES
      ? `The critical path leads through ${count}, at the end ${last}.`
      : `The critical path leads through ${last}.`,
  ];
}

const MOST_NAMES = 5;

function hatches(id: string): string {
  const patterns = HATCHED.map(
    (kind) =>
      `<pattern id="${id}-${kind}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="pw-hatch-${kind}" x1="0" y1="0" x2="0" y2="6" stroke-width="3"/></pattern>`,
  );
  return `<defs>${patterns.join('')}</defs>`;
}

function head(chart: Chart, options: TimelineOptions, layout: Layout): string {
  const end = chart.outcome === 'unfinished' ? 'running' : chart.outcome;
  const parts = [
    `<text class="pw-title" x="12" y="24">${escaped(titleOf(chart, options))}</text>`,
    `<text class="pw-muted" x="${layout.width - RIGHT}" y="24" text-anchor="end">${escaped(`${end}, ${printDuration(chart.spanMs)}, ${counted(chart.resources ?? chart.rows.length, 'resource')}`)}</text>`,
  ];
  const bars = chart.rows.flatMap((row) => row.bars);
  const marks = chart.rows.flatMap((row) => row.marks);
  let x = 12;
  const entry = (shape: (at: number) => string, text: string) => {
    parts.push(shape(x), `<text class="pw-muted" x="${round(x + 20)}" y="48">${text}</text>`);
    x += 20 + text.length * 6 + 16;
  };
  for (const [kind, text] of KINDS) {
    if (bars.some((bar) => bar.kind === kind)) entry((at) => bar(layout.id, kind, at, 39, 14, 10), text);
  }
  if (marks.some(({ kind }) => kind === 'retry')) entry((at) => diamond(at + 7, 44), 'retry');
  if (marks.some(({ kind }) => kind === 'warning')) entry((at) => triangle(at + 7, 44), 'warning');
  if (marks.some(({ kind }) => kind === 'failure')) entry((at) => cross(at + 7, 44), 'failure');
  if (chart.path.length > 0) entry((at) => `<path class="pw-path" d="M${at} 44h14"/>`, 'critical path');
  if (options.prediction)
    entry((at) => `<rect class="pw-ghost" x="${at}" y="40" width="14" height="8" rx="2"/>`, 'predicted');
  return parts.join('');
}

/** Outline and hatching for waits, a filled bar for work. */
function bar(id: string, kind: BarKind, x: number, y: number, width: number, height: number, extra = ''): string {
  const box = `x="${round(x)}" y="${round(y)}" width="${round(Math.max(1, width))}" height="${height}" rx="2"`;
  if (!HATCHED.includes(kind)) return `<rect class="pw-${kind}${extra}" ${box} stroke="none"/>`;
  // A wait for a lock is inside a step: its hatching must not mix with the bar below.
  const paper = kind === 'lock' ? `<rect class="pw-paper" ${box}/>` : '';
  return `${paper}<rect class="pw-${kind}${extra}" ${box} fill-opacity=".12" stroke-opacity=".55"/><rect ${box} fill="url(#${id}-${kind})" opacity=".38"/>`;
}

const diamond = (x: number, y: number) => `<path class="pw-retry" d="M${round(x)} ${y - 5}l5 5-5 5-5-5z"/>`;
const triangle = (x: number, y: number) => `<path class="pw-retry" d="M${round(x)} ${y - 6}l6 11h-12z"/>`;
const cross = (x: number, y: number) =>
  `<path class="pw-failure" stroke-width="2.5" d="M${round(x - 4)} ${y - 4}l8 8m0-8l-8 8"/>`;

const TICKS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

function axis({ spanMs, x, bottom, left, width }: Layout): string {
  const seconds = TICKS_S.find((each) => spanMs / (each * 1000) <= 10) ?? spanMs / 10_000;
  const ticks = Array.from({ length: Math.floor(spanMs / (seconds * 1000)) + 1 }, (_, index) => index * seconds * 1000);
  const lines = ticks.map((ms) => {
    const at = x(ms);
    const text = ms === 0 ? '0' : printDuration(ms).replace(/\.0s$/, 's').replace(/ 0s$/, '');
    return `<line class="pw-grid" x1="${at}" x2="${at}" y1="${HEAD + AXIS - 4}" y2="${bottom}"/><text class="pw-muted" x="${at}" y="${HEAD + 12}" text-anchor="middle">${text}</text><text class="pw-muted" x="${at}" y="${bottom + 15}" text-anchor="middle">${text}</text>`;
  });
  return `${lines.join('')}<line class="pw-grid" x1="${left}" x2="${width - RIGHT}" y1="${bottom}" y2="${bottom}"/>`;
}

const GLYPHS: Readonly<Record<Row['status'], string>> = {
  done: '✓',
  failed: '✕',
  notReady: '✕',
  canceled: '–',
  skipped: '–',
  waiting: '·',
  working: '…',
};

function drawRow(row: Row, at: number, layout: Layout, ghost: Row | undefined): string {
  const { y: yOf, rowHeight, isSmall, left, width, x } = layout;
  const y = yOf(at);
  const hasFailed = row.status === 'failed' || row.status === 'notReady';
  const text = `${GLYPHS[row.status]} ${fitting(row.address, Math.floor((left - 24) / (isSmall ? 5.2 : 6)))}`;
  const words = [
    `${row.address}: ${row.status}`,
    ...(row.problem ? [`${row.problem.code}: ${row.problem.detail}`] : []),
  ];
  const small = isSmall ? ' pw-small' : '';
  const parts = [
    ...(at % 2 === 0 ? [`<rect class="pw-stripe" x="0" y="${y}" width="${width}" height="${rowHeight}"/>`] : []),
    `<g><title>${escaped(words.join('\n'))}</title><text class="pw-row${small}${hasFailed ? ' pw-failed-row' : ''}" x="12" y="${y + rowHeight / 2 + 4}">${escaped(text)}</text></g>`,
    ...row.bars.map((each) => drawBar(each, row, y, layout)),
    ...(ghost?.bars ?? [])
      .filter(({ kind }) => kind !== 'turn')
      .map(
        ({ fromMs, toMs }) =>
          `<rect class="pw-ghost" x="${x(fromMs)}" y="${y + 2}" width="${round(Math.max(1, x(toMs) - x(fromMs)))}" height="${rowHeight - 4}" rx="3"/>`,
      ),
    ...(row.status === 'skipped' && row.bars.length === 0
      ? [`<text class="pw-muted" x="${x(0) + 5}" y="${y + rowHeight / 2 + 4}">not started</text>`]
      : []),
    ...row.marks.map((mark) => drawMark(mark, y, layout)),
  ];
  return `<g data-address="${escaped(row.address)}">${parts.join('')}</g>`;
}

function drawBar({ kind, label, fromMs, toMs, outcome, words }: Bar, row: Row, y: number, layout: Layout): string {
  const { x, rowHeight, isSmall, id } = layout;
  const [from, to] = [x(fromMs), x(toMs)];
  const height = isSmall ? rowHeight - 4 : rowHeight - 10;
  const top = y + (rowHeight - height) / 2;
  const extra = outcome === 'open' ? ' pw-open' : '';
  // A wait for a lock lies over its step, and a mark over both: the label stays beside them.
  const covers = row.bars.filter((other) => other.kind === 'lock' && kind !== 'lock').map((other) => other.fromMs);
  const free = Math.min(
    to,
    ...[...covers, ...row.marks.map(({ atMs }) => atMs)].filter((ms) => ms > fromMs).map((ms) => x(ms) - 7),
  );
  const isMarked = row.marks.some(({ atMs }) => atMs === fromMs);
  const start = from + (isMarked ? 9 : 5);
  const text = isSmall ? '' : fitting(label, Math.floor((free - start - 3) / 5.8));
  const onBar = HATCHED.includes(kind) ? '' : ' class="pw-on-bar"';
  const isShown = text === label || text.length > 5;
  return [
    `<g><title>${escaped(words)}</title>`,
    bar(id, kind, from, top, to - from, height, extra),
    isShown ? `<text${onBar} x="${round(start)}" y="${top + height / 2 + 4}">${escaped(text)}</text>` : '',
    '</g>',
  ].join('');
}

const SHAPES = { failure: cross, retry: diamond, warning: triangle };

function drawMark({ kind, atMs, words }: Mark, y: number, { x, rowHeight }: Layout): string {
  const shape = SHAPES[kind](x(atMs), y + rowHeight / 2);
  return `<g><title>${escaped(words)}</title>${shape}</g>`;
}

/** Along the lower edge of the bars, and from row to row if one had to wait for another. */
function path({ path: chain }: Chart, rows: readonly Row[], { x, y, rowHeight }: Layout): string {
  const rowOf = new Map(rows.map(({ address }, at) => [address, at]));
  const line = (address: string) => round(y(rowOf.get(address) ?? 0) + rowHeight - 3);
  return chain
    .map(({ address, fromMs, toMs, follows }, at) => {
      const own = `<path class="pw-path" d="M${x(fromMs)} ${line(address)}H${x(toMs)}"/>`;
      const before = chain[at - 1];
      if (!before) return own;
      const hop = follows === 'turn' ? 'pw-turn-hop' : 'pw-hop';
      return `<path class="pw-path ${hop}" d="M${x(before.toMs)} ${line(before.address)}V${line(address)}H${x(fromMs)}"/>${own}`;
    })
    .join('');
}

function predictedEnd({ spanMs }: Chart, { x, bottom }: Layout): string {
  const at = x(spanMs);
  return `<g><title>predicted end: ${printDuration(spanMs)}</title><line class="pw-end" x1="${at}" x2="${at}" y1="${HEAD + AXIS - 4}" y2="${bottom}"/></g>`;
}

function rates({ requests }: Chart, { x, bottom, left }: Layout): string {
  const most = Math.max(1, ...requests.map(({ perSecond }) => perSecond));
  const [top, base] = [bottom + AXIS + 8, bottom + AXIS + RATES - 6];
  const areas = requests.map(({ fromMs, toMs, perSecond }) => {
    const height = round(((base - top) * perSecond) / most);
    const words = `${perSecond.toFixed(1)} requests per second, from ${printDuration(fromMs)} to ${printDuration(toMs)}`;
    return `<g><title>${words}</title><rect class="pw-rate" x="${x(fromMs)}" y="${round(base - height)}" width="${round(Math.max(0.5, x(toMs) - x(fromMs)))}" height="${height}"/></g>`;
  });
  return `${areas.join('')}<text class="pw-muted" x="12" y="${top + 10}">requests/s</text><text class="pw-muted" x="12" y="${top + 25}">up to ${most >= 10 ? Math.round(most) : most.toFixed(1)}</text><line class="pw-grid" x1="${left}" x2="${x(Number.MAX_SAFE_INTEGER)}" y1="${base}" y2="${base}"/>`;
}
