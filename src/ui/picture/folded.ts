/**
 * The chart of a large run while it grows: resources that are at work or have failed keep their rows; of each group, those
 * that are done share one row, and so do those that wait for others, and those between two steps. Each event draws the picture again, so its size matters. Pure.
 */
import { groupAddress } from '../../base/address.ts';
import { groupedBy } from '../../base/values/groups.ts';
import type { Bar, Chart, Row } from './chart.ts';

/** Smaller runs are shown in full. */
const MOST_ROWS = 60;
type Shared = 'done' | 'waiting' | 'idle';
const WORDS: Readonly<Record<Shared, string>> = { done: 'done', waiting: 'waiting', idle: 'waiting for their turn' };

/** Undefined for a row that is shown by itself. */
function sharedBy({ status, bars }: Row, spanMs: number): Shared | undefined {
  if (status === 'done' || status === 'waiting') return status;
  return status === 'working' && bars.some((bar) => lasts(bar, spanMs)) ? 'idle' : undefined;
}

/** Whether the resource waits for its turn right now. */
const lasts = ({ kind, toMs }: Bar, spanMs: number) => kind === 'turn' && toMs === spanMs;

export function foldedChart(chart: Chart): Chart {
  if (chart.outcome !== 'unfinished' || chart.rows.length <= MOST_ROWS) return chart;
  const groups = groupedBy(chart.rows, (row) => {
    const shared = sharedBy(row, chart.spanMs);
    return shared === undefined ? row.address : `${groupAddress(row.address)} ${shared}`;
  });
  const rows = [...groups.values()].map((group) => foldedRow(group, chart.spanMs));
  const shown = new Set(rows.map(({ address }) => address));
  const path = chart.path.filter(({ address }) => shown.has(address));
  return { ...chart, rows, path, resources: chart.rows.length };
}

function foldedRow(group: readonly Row[], spanMs: number): Row {
  const [first] = group;
  const shared = first && sharedBy(first, spanMs);
  if (group.length === 1 && first) return first;
  if (!first || !shared) throw new RangeError('A shared row needs resources in the same state.');
  const label = `${group.length} ${WORDS[shared]}`;
  const address = `${groupAddress(first.address)}: ${label}`;
  const bars = group.flatMap((row) => row.bars);
  const shown = bars.filter((bar) => {
    if (shared === 'idle') return lasts(bar, spanMs);
    return shared === 'waiting' || bar.kind !== 'turn';
  });
  const bar: Bar = {
    kind: shared === 'done' ? 'run' : 'turn',
    label,
    fromMs: Math.min(spanMs, ...shown.map(({ fromMs }) => fromMs)),
    toMs: Math.max(0, ...shown.map(({ toMs }) => toMs)),
    outcome: 'done',
    words: address,
  };
  return { address, status: first.status, bars: shown.length === 0 ? [] : [bar], marks: [] };
}
