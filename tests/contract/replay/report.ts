/** Mismatches as text: one line each, cut to where expected and received part ways. */
import type { Mismatch } from './compare.ts';
import type { ReplayResult, StepMismatch } from './run.ts';

const WIDTH = 160;
/** How much of the common beginning is kept before the first difference of two long values. */
const CONTEXT = 30;

export function formatResult(result: ReplayResult): string {
  const verdict = result.mismatches.length === 0 ? 'ok  ' : 'FAIL';
  const lines = result.mismatches.map((step) => formatStep(step));
  return [`${verdict} ${result.scenario} ${result.ok}/${result.total}`, ...lines].join('\n');
}

export function formatStep(step: StepMismatch): string {
  return [`  ${step.step}  ${step.request}`, ...step.mismatches.map(formatMismatch)].join('\n');
}

function formatMismatch({ path, expected, got }: Mismatch): string {
  const label = path === '' ? '' : `${path}: `;
  if (label.length + expected.length + got.length <= WIDTH) return `      ${label}expected ${expected}, got ${got}`;
  const start = Math.max(0, commonStart(expected, got) - CONTEXT);
  return [`      ${path}`, `        expected ${cut(expected, start)}`, `        got      ${cut(got, start)}`].join(
    '\n',
  );
}

export function formatTotals(results: readonly ReplayResult[]): string {
  const good = results.filter((result) => result.mismatches.length === 0).length;
  const ok = results.reduce((sum, result) => sum + result.ok, 0);
  const total = results.reduce((sum, result) => sum + result.total, 0);
  return `${good}/${results.length} scenarios, ${ok}/${total} steps matched`;
}

function commonStart(a: string, b: string): number {
  let index = 0;
  while (index < a.length && a[index] === b[index]) index++;
  return index;
}

function cut(text: string, start: number): string {
  const head = start > 0 ? '…' : '';
  const tail = text.length > start + WIDTH ? '…' : '';
  return head + text.slice(start, start + WIDTH) + tail;
}
