/** Columns of text, as wide as they need to be. */
import { type Paint, padVisible, visibleWidth } from './paint.ts';

/** Leaves out columns that are empty in every row. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  const used = head.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  const keep = (row: readonly string[]) => head.map((_, column) => row[column] ?? '').filter((_, index) => used[index]);
  const body = rows.map(keep);
  const titles = keep(head);
  const widths = titles.map((title, column) =>
    Math.max(visibleWidth(title), ...body.map((row) => visibleWidth(row[column] ?? ''))),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => padVisible(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [paint('bold', line(titles)), ...body.map(line)];
}
