/** Columns of text: as wide as they need to be, and on a terminal no wider than it is. */
import { cutVisible, type Paint, padVisible, plainPaint, visibleWidth, wrapVisible } from './paint.ts';

const GAP = '  ';
/** A column is not made narrower than this. */
const NARROWEST = 8;

/** Whether no column has to be narrowed for this terminal. */
export function fitsWidth(head: readonly string[], rows: readonly (readonly string[])[], { width }: Paint): boolean {
  return renderTable(head, rows, plainPaint).every((line) => width === undefined || visibleWidth(line) <= width);
}

/** Leaves out columns that are empty in every row. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  const used = head.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const keep = (row: readonly string[]) => head.map((_, column) => row[column] ?? '').filter((_, index) => used[index]);
  const body = rows.map(keep);
  const titles = keep(head);
  const needed = titles.map((title, column) =>
    Math.max(visibleWidth(title), ...body.map((row) => visibleWidth(row[column] ?? ''))),
  );
  const widths = fitted(needed, paint.width);
  const [title = '', ...more] = rowLines(titles, widths);
  return [paint('bold', title), ...more, ...body.flatMap((row) => rowLines(row, widths))];
}

/**
 * Narrows the widest column until the row fits. The first column is narrowed last: it identifies the row, and users
 * type it again.
 */
function fitted(needed: readonly number[], width = Number.POSITIVE_INFINITY): number[] {
  const widths = [...needed];
  const total = () => widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1));
  for (const first of [1, 0]) {
    while (total() > width) {
      const widest = Math.max(...widths.slice(first));
      if (widest <= NARROWEST) break;
      widths[widths.indexOf(widest, first)] = widest - 1;
    }
  }
  return widths;
}

/** Text that is too long for its column continues below; a word that is too long is cut. */
function rowLines(row: readonly string[], widths: readonly number[]): string[] {
  const cells = row.map((cell, column) =>
    wrapVisible(cell, widths[column]).map((line) => cutVisible(line, widths[column] ?? 0)),
  );
  const height = Math.max(1, ...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((cell, column) => padVisible(cell[line] ?? '', widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
