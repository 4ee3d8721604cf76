/** Short forms of values and of problems, for evidence and incidents. Pure. */
import type { Diagnostic } from '../../base/diagnostics.ts';

const MOST_CHARACTERS = 160;

export function printed(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value));
}

export function firstLine(text: string): string {
  return shortened(text.split('\n')[0]?.trim() ?? '');
}

/** A file of ours that cannot be read, for instance, is nothing a server said. */
export function isFromServer({ where, detail }: Pick<Diagnostic, 'where' | 'detail'>): boolean {
  return (where?.endpoint ?? where?.request ?? where?.upid) !== undefined || /"[^"]+"/.test(detail);
}

/** What the server said stands in quotes; without them it is our own sentence. */
export function serverWords({ detail, summary }: Pick<Diagnostic, 'detail' | 'summary'>): string {
  const quoted = /"([^"]+)"/.exec(detail)?.[0];
  return shortened(quoted ?? (firstLine(detail) || summary));
}

/** The last lines of a task's log, as they stand in the detail of its failure. */
export function taskLogLines({ detail }: Pick<Diagnostic, 'detail'>): string[] {
  const lines = detail.split('\n');
  const start = lines.indexOf('Last lines of its log:');
  return start < 0
    ? []
    : lines
        .slice(start + 1)
        .filter((line) => line.startsWith('  '))
        .map((line) => line.trim());
}

function shortened(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
}

/** On one line; a bar stays a bar, whatever stands before it. */
function cell(text: string): string {
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
