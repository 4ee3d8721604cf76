/** Text of others inside Markdown: in a cell of a table, in a span of code, in a block. Pure. */

/** On one line; a bar stays a bar, whatever stands before it. */
export function cell(text: string): string {
  return text
    .replace(/\s*[\r\n]+\s*/g, ' ')
    .trim()
    .replace(/(\\*)\|/g, (_, backslashes: string) => `${backslashes}${backslashes}\\|`);
}

export function tableRow(cells: readonly string[]): string {
  return `| ${cells.map(cell).join(' | ')} |`;
}

export function tableHead(columns: readonly string[]): string[] {
  return [tableRow(columns), `|${columns.map(() => ' --- |').join('')}`];
}

/** A span of code cannot hold the sign that ends it. */
export function codeSpan(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``;
}

/** Indented, because a fence could be ended by what stands in it. */
export function codeBlock(text: string): string[] {
  return text.split(/\r?\n/).map((line) => `    ${line}`);
}

/** `a, b, c and 4 more`. */
export function listed(items: readonly string[], most: number): string {
  const left = items.length - most;
  return left > 0 ? `${items.slice(0, most).join(', ')} and ${left} more` : items.join(', ');
}
