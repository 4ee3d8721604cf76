/**
 * What a live view is sent: the whole run at first, then only what has changed since. A run of 300 VMs is a megabyte, and
 * an event concerns one of them. Pure; it also runs in a browser.
 */
import type { Bar, Chart, Row } from '../picture/chart.ts';
import type { Answer, RunView } from './source.ts';

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

/** What a page that watches the newest run receives: what is new, that there is none, or why it cannot be read. */
export type LiveNews = RunChanges | null | Pick<Extract<Answer<never>, { readonly ok: false }>, 'problems'>;

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
  const rows = listWith<PackedRow>(known?.packed, changes.rows);
  const prediction = changes.prediction ?? known?.prediction;
  return {
    packed: rows,
    chart: {
      ...head,
      rows: rows.map((row) => unpacked(row, head.spanMs)),
      path: listWith<Chart['path'][number]>(known?.chart.path, changes.path),
      requests: listWith<Chart['requests'][number]>(known?.chart.requests, changes.requests),
    },
    ...(prediction && { prediction }),
    log: listWith<RunView['log'][number]>(known?.log, changes.log),
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

function listWith<Item>(before: readonly Item[] = [], { length, changed }: ListChanges): readonly Item[] {
  const list = before.slice(0, length);
  for (const [index, value] of changed) list[index] = value as Item; // the server of the same version sent it for this list
  return list;
}
