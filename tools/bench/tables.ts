/** The tables at the end of a bench. */
import type { Figure } from './engine.ts';
import type { Growth } from './growth.ts';
import type { Measured } from './measure.ts';
import type { Rates } from './rates.ts';

export function printFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ figure, measured, aim, isMet }) => [figure, measured, aim, isMet ? 'met' : 'missed']);
  return table([['figure', 'measured', 'aim', ''], ...rows], () => true);
}

export function printRates(rates: Rates): string {
  const rows = (group: string, measured: Readonly<Record<string, Measured>>) =>
    Object.entries(measured).map(([name, { perSecond, medianMs, times }]) => [
      group,
      name,
      perSecond.toFixed(0),
      milliseconds(medianMs),
      String(times),
    ]);
  const head = ['where', 'request', 'per second', 'median', 'times'];
  const overhead = `the client adds ${milliseconds(rates.clientOverheadMs)} to a request (× ${rates.clientRatio.toFixed(2)})`;
  return `${table([head, ...rows('in process', rates.inProcess), ...rows('TLS', rates.tls)])}\n${overhead}`;
}

export function printGrowth(growth: readonly Growth[]): string {
  const rows = growth.map(({ operation, unit, smallMs, largeMs, ratio }) => [
    operation,
    unit,
    milliseconds(smallMs),
    milliseconds(largeMs),
    ratio.toFixed(2),
  ]);
  return table([['operation', 'per', 'small world', 'large world', 'ratio'], ...rows]);
}

function milliseconds(ms: number): string {
  return ms >= 1 ? `${ms.toFixed(2)} ms` : `${(ms * 1000).toFixed(2)} µs`;
}

const namesFirst = (column: number) => column < 2;

function table(rows: readonly (readonly string[])[], isText = namesFirst): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0, isText(column)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const pad = (cell: string, width: number, left: boolean) => (left ? cell.padEnd(width) : cell.padStart(width));
