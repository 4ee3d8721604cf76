/**
 * The chart of a large run while it grows: resources that are at work or have failed keep their rows; of each group, those
 * that are done share one row, and so do those that wait. Each event draws the picture again, so its size matters. Pure.
 */
import { groupAddress } from '../../base/address.ts';
import { groupedBy } from '../../base/values/groups.ts';
import type { Bar, Chart, Row } from './chart.ts';

/** Smaller runs are shown in full. */
const MOST_ROWS = 60;
const WORDS: Readonly<Partial<Record<Row['status'], string>>> = { done: 'done', waiting: 'waiting' };

export function foldedChart(chart: Chart): Chart {
  if (chart.outcome !== 'unfinished' || chart.rows.length <= MOST_ROWS) return chart;
  const groups = groupedBy(chart.rows, (row) =>
    WORDS[row.status] === undefined ? row.address : `${groupAddress(row.address)} ${row.status}`,
  );
  const rows = [...groups.values()].map((group) => foldedRow(group, chart.spanMs));
  const shown = new Set(rows.map(({ address }) => address));
  return { ...chart, rows, path: chart.path.filter(({ address }) => shown.has(address)) };
}

function foldedRow(group: readonly Row[], spanMs: number): Row {
  const [first] = group;
  if (group.length === 1 && first) return first;
  const status = first?.status ?? 'waiting';
  const label = `${group.length} ${WORDS[status]}`;
  const bars = group.flatMap((row) => row.bars);
  const work = status === 'waiting' ? bars : bars.filter(({ kind }) => kind !== 'turn');
  const bar: Bar = {
    kind: status === 'waiting' ? 'turn' : 'run',
    label,
    fromMs: Math.min(spanMs, ...work.map(({ fromMs }) => fromMs)),
    toMs: Math.max(0, ...work.map(({ toMs }) => toMs)),
    outcome: 'done',
    words: `${groupAddress(first?.address ?? '')}: ${label}`,
  };
  return {
    address: `${groupAddress(first?.address ?? '')}: ${label}`,
    status,
    bars: work.length === 0 ? [] : [bar],
    marks: [],
  };
}
