/** What the stream of a view offers: colours or none, and a width to keep to. */
import { styleText } from 'node:util';
import type { Output } from '../terminal.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta';

export interface Paint {
  (style: Style, text: string): string;
  /** The columns of a terminal. Text for files and pipes has no width to keep to. */
  readonly width?: number;
}

export const plainPaint: Paint = (_style, text) => text;

/** Depends on the stream that the text is written to. */
export function paintFor(output: Output): Paint {
  const isColoured = output.isTTY === true && output.hasColors?.() !== false;
  const paint: Paint = isColoured
    ? (style, text) => styleText(style, text, { validateStream: false })
    : (style, text) => plainPaint(style, text);
  return output.isTTY && output.columns ? Object.assign(paint, { width: output.columns }) : paint;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const ESCAPE = /(\u001b\[[0-9;]*m)/g;

/** How many columns a text takes: escape sequences take none. */
export function visibleWidth(text: string): number {
  return [...text.replace(ESCAPE, '')].length;
}

export function padVisible(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - visibleWidth(text)));
}

/** Cuts a text to a number of columns and keeps its colours. */
export function cutVisible(text: string, width: number): string {
  if (visibleWidth(text) <= width) return text;
  let left = Math.max(0, width - 1);
  let result = '';
  for (const part of text.split(ESCAPE)) {
    if (part.startsWith('\u001b')) {
      result += part;
      continue;
    }
    const kept = [...part].slice(0, left);
    left -= kept.length;
    result += kept.join('');
  }
  return width > 0 ? `${result}…` : '';
}

/** Lines of at most this many columns, broken between words; a word that is longer stays whole. */
export function wrapVisible(text: string, width = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && visibleWidth(line) + 1 + visibleWidth(word) <= width)
      lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}
