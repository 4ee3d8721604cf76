/** What the stream of a view offers: colours or none, and a width to keep to. */
import { inspect } from 'node:util';
import { randomHex, systemRandom } from '../../../base/random.ts';
import { visibleLine, visibleText } from '../../../base/text/safe-text.ts';

/** The part of a stream that a terminal uses. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** Of a terminal: how wide it is. */
  readonly columns?: number;
  hasColors?(): boolean;
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta';

export interface Paint {
  (style: Style, text: string): string;
  /** The columns of a terminal. Text for files and pipes has no width to keep to. */
  readonly width?: number;
}

export const plainPaint: Paint = (_style, text) => text;

/**
 * Begins and ends a mark, which becomes an escape sequence where the text leaves. Text from a server cannot contain a mark,
 * because the key is known only inside the process.
 */
interface Marks {
  readonly key: string;
  readonly pattern: RegExp;
}

/**
 * Created with the first mark: most commands that write to a file or a pipe need neither a mark nor a random number.
 */
let marks: Marks | undefined;

function marksOf(): Marks {
  const key = marks?.key ?? randomHex(systemRandom, 16);
  marks ??= { key, pattern: new RegExp(`(\\ue000${key}\\d+\\ue000)`, 'g') };
  return marks;
}

const mark = (code: number) => `\ue000${marksOf().key}${code}\ue000`;

/** Depends on the stream that the text is written to. */
export function paintFor(output: Output): Paint {
  const isColoured = output.isTTY === true && output.hasColors?.() !== false;
  const painted = (style: Style, text: string) => {
    const [begin, end] = inspect.colors[style] ?? [0, 0];
    return `${mark(begin)}${text}${mark(end)}`;
  };
  const paint: Paint = isColoured ? painted : (style, text) => plainPaint(style, text);
  return output.isTTY && output.columns ? Object.assign(paint, { width: output.columns }) : paint;
}

/** Turns marks into colours. Everything else must already be free of control characters. */
export function coloured(text: string): string {
  if (!marks) return text;
  const { key, pattern } = marks;
  return text.replace(pattern, (found) => `\u001b[${found.slice(1 + key.length, -1)}m`);
}

/** How many columns a text takes: marks take none. */
export function visibleWidth(text: string): number {
  return [...visibleText(marks ? text.replace(marks.pattern, '') : text)].length;
}

export function padVisible(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - visibleWidth(text)));
}

/** Cuts a text to one line of a number of columns, shows control characters, and keeps its marks. */
export function cutVisible(text: string, width: number): string {
  const parts = (marks ? text.split(marks.pattern) : [text]).map((part) => (isMark(part) ? part : visibleLine(part)));
  const whole = parts.join('');
  if (visibleWidth(whole) <= width) return whole;
  let left = Math.max(0, width - 1);
  let result = '';
  for (const part of parts) {
    if (isMark(part)) {
      result += part;
      continue;
    }
    const kept = [...part].slice(0, left);
    left -= kept.length;
    result += kept.join('');
  }
  return width > 0 ? `${result}…` : '';
}

/** Lines of at most this many columns, broken between words; a word that is longer stays whole. `indent` is of further lines. */
export function wrapVisible(text: string, width = Number.POSITIVE_INFINITY, indent = ''): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && visibleWidth(line) + 1 + visibleWidth(word) <= width)
      lines[lines.length - 1] += ` ${word}`;
    else lines.push(line === undefined ? word : `${indent}${word}`);
  }
  return lines;
}

/** Lines that fit the terminal; what does not fit continues below, further in than its line. */
export function fitLines(lines: readonly string[], { width }: Paint): string[] {
  const indentOf = (line: string) => /^ */.exec(marks ? line.replace(marks.pattern, '') : line)?.[0] ?? '';
  return lines.flatMap((line) => wrapVisible(line, width, `${indentOf(line)}    `));
}

const isMark = (part: string) => marks !== undefined && part.startsWith(`\ue000${marks.key}`);
