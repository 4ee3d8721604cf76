/** Text for evidence and incident reports: short forms of values and problems, and Markdown that is safe for any text. Pure. */
import { type Diagnostic, factsOf } from '../../base/diagnostics.ts';

const MOST_CHARACTERS = 160;

export function printed(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value));
}

export function firstLine(text: string): string {
  return shortened(text.split('\n')[0]?.trim() ?? '');
}

/** False for a local problem, such as a file that cannot be read. */
export function isFromServer(problem: Diagnostic): boolean {
  const { where } = problem;
  return (where?.endpoint ?? where?.request ?? where?.upid ?? factsOf(problem).serverSaid) !== undefined;
}

/** The server's message in quotes; otherwise the first line of the detail. */
export function serverWords(problem: Diagnostic): string {
  const { serverSaid } = factsOf(problem);
  if (serverSaid !== undefined) return shortened(`"${serverSaid.split('\n')[0]}"`);
  return firstLine(problem.detail) || problem.summary;
}

function shortened(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;
}

/** Foreign text that starts no tag, comment, code, link or picture. */
export function inert(text: string): string {
  return text
    .replace(/(\\*)([<`])/g, (_, backslashes: string, sign: string) => `${backslashes}${backslashes}\\${sign}`)
    .replaceAll('](', ']\\(');
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
