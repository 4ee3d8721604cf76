/** Comments and empty lines around the items of a body, so that they stay with their items. */
import type { Span } from '../hcl/syntax.ts';
import type { Around } from './target.ts';

export interface Surrounded<Item extends Span> {
  readonly item: Item;
  readonly around: Around;
}

export interface ReadItems<Item extends Span> {
  readonly items: readonly Surrounded<Item>[];
  /** Comments after the last item. */
  readonly below: readonly string[];
}

/** The items between two braces. The rest of an item's last line belongs to the item. */
export function surrounded<Item extends Span>(
  source: string,
  body: Span & { readonly items: readonly Item[] },
): ReadItems<Item> {
  const items: Surrounded<Item>[] = [];
  let from = body.start;
  let isFirst = true;
  for (const item of body.items) {
    const gap = source.slice(from, item.start);
    const previous = items.at(-1);
    const { beside, lines } = splitGap(gap);
    if (previous && beside !== undefined) items[items.length - 1] = withBeside(previous, beside);
    const above = isFirst && beside !== undefined ? [beside, ...lines] : lines;
    const blankBefore = !isFirst && above[0] === '';
    items.push({ item, around: { above: trimmed(above), blankBefore } });
    from = item.end;
    isFirst = false;
  }
  const { beside, lines } = splitGap(source.slice(from, body.end));
  const last = items.at(-1);
  if (last && beside !== undefined) items[items.length - 1] = withBeside(last, beside);
  const below = trimmed(!last && beside !== undefined ? [beside, ...lines] : lines);
  return { items, below };
}

function withBeside<Item extends Span>({ item, around }: Surrounded<Item>, beside: string): Surrounded<Item> {
  return { item, around: { ...around, beside } };
}

const IN_GAP = /\/\*[\s\S]*?\*\/|(?:#|\/\/)[^\n]*|\n|[^\S\n]+|,/g;

/**
 * The comment on the line that the gap begins on, and the lines after it. A comment of several lines gets lines of its own,
 * because what is beside it may move.
 */
function splitGap(gap: string): { readonly beside?: string; readonly lines: readonly string[] } {
  const rows: string[] = [''];
  let isAfterLines = false;
  const put = (text: string) => {
    const row = rows.pop() ?? '';
    rows.push(row === '' ? text : `${row} ${text}`);
  };
  for (const [text] of gap.matchAll(IN_GAP)) {
    if (text === '\n') {
      if (!isAfterLines) rows.push('');
      isAfterLines = false;
    } else if (text.startsWith('/*') && text.includes('\n')) {
      if (rows.length === 1 || rows.at(-1) !== '') rows.push('');
      rows.pop();
      rows.push(...text.split('\n').map((line) => line.trim()), '');
      isAfterLines = true;
    } else if (/^(?:#|\/)/.test(text)) {
      put(text.trimEnd());
      isAfterLines = false;
    }
  }
  const [first = '', ...rest] = rows;
  const lines = rest.slice(0, -1);
  // A comment before an item on its own line.
  const before = rest.at(-1);
  const all = before === undefined || before === '' ? lines : [...lines, before];
  return first === '' ? { lines: all } : { beside: first, lines: all };
}

/** Comments of a part of the source that its translation does not have: beside what was dropped, or inside of an attribute. */
export function lostComments(
  source: string,
  comments: readonly Span[],
  { start, end }: Span,
  translation: string,
): readonly string[] {
  let rest = essence(translation);
  const lost: string[] = [];
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    const text = source.slice(comment.start, comment.end);
    const words = essence(text);
    const at = words === '' ? 0 : rest.indexOf(words);
    if (at < 0) lost.push(...text.split('\n').map((line) => line.trim()));
    else rest = rest.slice(0, at) + rest.slice(at + words.length);
  }
  return lost;
}

/** Without what a translation may change: white space, and the marks of comments. */
const essence = (text: string): string => text.replace(/[\s#/*]+/g, '');

/** Without empty lines at both ends. */
function trimmed(lines: readonly string[]): readonly string[] {
  const start = lines.findIndex((line) => line !== '');
  if (start < 0) return [];
  const end = lines.findLastIndex((line) => line !== '');
  return lines.slice(start, end + 1);
}

export function joined(outer: Around, inner: Around): Around {
  const beside = inner.beside ?? outer.beside;
  const isTaken = inner.beside !== undefined && outer.beside !== undefined;
  return {
    above: [...outer.above, ...(isTaken ? [outer.beside] : []), ...inner.above],
    ...(beside !== undefined && { beside }),
    blankBefore: outer.blankBefore || inner.blankBefore,
  };
}
