/** A position in a Terraform file, and the small steps from there: white space, comments, words, punctuation. */
import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';

const IDENTIFIER = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy;

export class Scanner {
  readonly source: string;
  readonly file: string;
  at = 0;
  /** How many expressions are being read inside each other. */
  depth = 0;
  /** Ends of comments by their starts; some are read more than once. */
  readonly comments = new Map<number, number>();

  constructor(source: string, file: string) {
    this.source = source;
    this.file = file;
  }

  get isAtEnd(): boolean {
    return this.at >= this.source.length;
  }

  get isAtNewline(): boolean {
    return this.sees('\n') || this.sees('\r\n');
  }

  sees(text: string): boolean {
    return this.source.startsWith(text, this.at);
  }

  skipByteOrderMark(): void {
    if (this.sees('\u{FEFF}')) this.at += 1;
  }

  /** White space and comments. Line breaks only where they have no meaning. */
  skip(acrossLines: boolean): void {
    for (;;) {
      const { at: start } = this;
      const char = this.source[start];
      if (char === ' ' || char === '\t') this.at += 1;
      else if (acrossLines && (char === '\n' || char === '\r')) this.at += 1;
      else if (char === '#' || this.sees('//')) this.skipLineComment();
      else if (this.sees('/*')) this.skipComment();
      else return;
      if (char === '#' || char === '/') this.comments.set(start, this.at);
    }
  }

  /** Up to the end of its line, which is not a part of it. */
  private skipLineComment(): void {
    const end = this.source.indexOf('\n', this.at);
    if (end < 0) this.at = this.source.length;
    else this.at = this.source[end - 1] === '\r' ? end - 1 : end;
  }

  private skipComment(): void {
    const end = this.source.indexOf('*/', this.at + 2);
    if (end < 0) throw this.problem('the end of this comment');
    this.at = end + 2;
  }

  identifier(): string | undefined {
    return this.match(IDENTIFIER);
  }

  /** By a sticky expression. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [text] = pattern.exec(this.source) ?? [];
    if (text !== undefined) this.at += text.length;
    return text;
  }

  /** Whether it matched. */
  take(text: string): boolean {
    if (!this.sees(text)) return false;
    this.at += text.length;
    return true;
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.problem(JSON.stringify(text));
  }

  whereOf(offset: number): Where {
    return { file: this.file, ...positionOf(this.source, offset) };
  }

  problem(expected: string): ProxwrightError {
    const found = this.isAtEnd ? 'the end of the file' : JSON.stringify(this.source.slice(this.at, this.at + 12));
    return new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `Expected ${expected}, but found ${found}.`,
      hint: 'Check the file with: terraform validate',
      where: this.whereOf(this.at),
    });
  }
}

/** Counted from 1. */
export function positionOf(source: string, offset: number): { readonly line: number; readonly column: number } {
  const starts = lineStarts(source);
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
}

/** Of the last text: a report asks about thousands of places in one file. */
let last: { readonly source: string; readonly starts: readonly number[] } | undefined;

function lineStarts(source: string): readonly number[] {
  if (last?.source !== source) {
    const starts = [0];
    for (let end = source.indexOf('\n'); end >= 0; end = source.indexOf('\n', end + 1)) starts.push(end + 1);
    last = { source, starts };
  }
  return last.starts;
}
