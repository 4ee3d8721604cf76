/**
 * What a live view is sent: the whole run at first, then only what has changed since. A run of 300 VMs is a megabyte, and
 * an event concerns one of them. Pure; it also runs in a browser.
 */
import type { Bar, Chart, Row } from '../picture/chart.ts';
import type { RunView } from './source.ts';

/** The new length, and the elements that differ, each with its place. */
interface ListChanges {
  readonly length: number;
  readonly changed: readonly (readonly [index: number, value: unknown])[];
}

export interface RunChanges {
  /** Absent after the first one. */
  readonly prediction?: Chart | null;
  readonly head: Omit<Chart, 'rows' | 'path' | 'requests'>;
  readonly rows: ListChanges;
  readonly path: ListChanges;
  readonly requests: ListChanges;
  readonly log: ListChanges;
}

/** Sends one page its run, piece by piece. */
export class RunSender {
  #sent: Readonly<Record<'rows' | 'path' | 'requests' | 'log', readonly string[]>> | undefined;
  #runId: string | undefined;

  next({ chart, prediction, log }: RunView): RunChanges {
    const { rows, path, requests, ...head } = chart;
    const isOther = this.#runId !== chart.runId;
    const before = isOther ? undefined : this.#sent;
    const now = {
      rows: rows.map((row) => packed(row, chart.spanMs)).map(textOf),
      path: path.map(textOf),
      requests: requests.map(textOf),
      log: log.map(textOf),
    };
    this.#sent = now;
    this.#runId = chart.runId;
    return {
      ...(isOther && { prediction: prediction ?? null }),
      head,
      rows: changesOf(before?.rows, now.rows),
      path: changesOf(before?.path, now.path),
      requests: changesOf(before?.requests, now.requests),
      log: changesOf(before?.log, now.log),
    };
  }
}

export interface ReceivedRun extends RunView {
  /** As they were sent: the next changes refer to them. */
  readonly packed: readonly PackedRow[];
}

/** The run as it is now. */
export function withChanges(before: ReceivedRun | undefined, changes: RunChanges): ReceivedRun {
  const { head } = changes;
  const known = changes.prediction === undefined ? before : undefined;
  const rows = listWith(known?.packed, changes.rows) as readonly PackedRow[];
  const prediction = changes.prediction ?? known?.prediction;
  return {
    packed: rows,
    chart: {
      ...head,
      rows: rows.map((row) => unpacked(row, head.spanMs)),
      path: listWith(known?.chart.path, changes.path) as Chart['path'],
      requests: listWith(known?.chart.requests, changes.requests) as Chart['requests'],
    },
    ...(prediction && { prediction }),
    log: listWith(known?.log, changes.log) as RunView['log'],
  };
}

/** A bar that lasts ends now: it has no end of its own, or it would differ at each look. */
type PackedBar = Omit<Bar, 'toMs'> & { readonly toMs: number | null };
type PackedRow = Omit<Row, 'bars'> & { readonly bars: readonly PackedBar[] };

function packed(row: Row, spanMs: number): PackedRow {
  return { ...row, bars: row.bars.map((bar) => ({ ...bar, toMs: bar.toMs === spanMs ? null : bar.toMs })) };
}

function unpacked(row: PackedRow, spanMs: number): Row {
  return { ...row, bars: row.bars.map((bar) => ({ ...bar, toMs: bar.toMs ?? spanMs })) };
}

const textOf = (value: unknown) => JSON.stringify(value);

function changesOf(before: readonly string[] = [], now: readonly string[]): ListChanges {
  return {
    length: now.length,
    changed: now.flatMap((text, index) => (text === before[index] ? [] : [[index, JSON.parse(text)] as const])),
  };
}

function listWith(before: readonly unknown[] = [], { length, changed }: ListChanges): readonly unknown[] {
  const list = before.slice(0, length);
  for (const [index, value] of changed) list[index] = value;
  return list;
}
