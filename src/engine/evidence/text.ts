/** Text for evidence and incident reports: short forms of values and problems, and Markdown that is safe for any text. Pure. */
import type { Diagnostic } from '../../base/diagnostics.ts';

const MOST_CHARACTERS = 160;

export function printed(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value));
}

export function firstLine(text: string): string {
  return shortened(text.split('\n')[0]?.trim() ?? '');
}

/** False for a local problem, such as a file that cannot be read. */
export function isFromServer({ where, detail }: Pick<Diagnostic, 'where' | 'detail'>): boolean {
  return (where?.endpoint ?? where?.request ?? where?.upid) !== undefined || /"[^"]+"/.test(detail);
}

/** The server's message, which details quote; otherwise the first line of the detail. */
export function serverWords({ detail, summary }: Pick<Diagnostic, 'detail' | 'summary'>): string {
  const quoted = /"([^"]+)"/.exec(detail)?.[0];
  return shortened(quoted ?? (firstLine(detail) || summary));
}

/** The last lines of the task log, from the detail of the failure. */
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

/** One line, with every bar escaped, also after backslashes. */
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

/** A code span cannot contain a backtick. */
export function codeSpan(text: string): string {
  return `\`${text.replace(/\s+/g, ' ').replaceAll('`', "'")}\``;
}

/** Indented, because the text could contain the fence. */
export function codeBlock(text: string): string[] {
  return text.split(/\r?\n/).map((line) => `    ${line}`);
}

/** `a, b, c and 4 more`. */
export function listed(items: readonly string[], most: number): string {
  const left = items.length - most;
  return left > 0 ? `${items.slice(0, most).join(', ')} and ${left} more` : items.join(', ');
}
