/** Quoted strings and heredocs: their text, escapes, interpolations and directives. */
import type { Scanner } from './scanner.ts';
import type { Expression, Literal, Template, TemplatePart } from './syntax.ts';

export type ReadExpression = (scanner: Scanner, free: boolean) => Expression;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' };

export function readQuotedWith(scanner: Scanner, readExpression: ReadExpression): Literal | Template {
  const start = scanner.at;
  scanner.expect('"');
  const parts = new Parts();
  for (;;) {
    const at = scanner.at;
    if (scanner.isAtEnd || scanner.isAtNewline) throw scanner.problem('the end of this string');
    if (scanner.take('"')) return parts.result({ start, end: scanner.at });
    if (scanner.sees('\\')) parts.text(readEscape(scanner), { start: at, end: scanner.at });
    else if (!readSequence(scanner, parts, readExpression)) {
      scanner.at += 1;
      parts.text(scanner.source[at] ?? '', { start: at, end: scanner.at });
    }
  }
}

function readEscape(scanner: Scanner): string {
  scanner.expect('\\');
  const unicode = scanner.match(/u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}/y);
  if (unicode !== undefined) {
    const point = Number.parseInt(unicode.slice(1), 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : '\u{FFFD}';
  }
  const char = scanner.source[scanner.at] ?? '';
  const text = ESCAPES[char];
  if (text === undefined) throw scanner.problem('an escape such as \\n, \\t, \\" or \\\\');
  scanner.at += 1;
  return text;
}

/** `$${`, `%%{`, `${…}` and `%{…}`. */
function readSequence(scanner: Scanner, parts: Parts, readExpression: ReadExpression): boolean {
  const start = scanner.at;
  for (const escaped of ['$${', '%%{']) {
    if (!scanner.take(escaped)) continue;
    parts.text(escaped.slice(1), { start, end: scanner.at });
    return true;
  }
  if (scanner.take('${')) {
    scanner.take('~');
    scanner.skip(true);
    const value = readExpression(scanner, true);
    scanner.skip(true);
    scanner.take('~');
    scanner.expect('}');
    parts.other({ kind: 'interpolation', value, start, end: scanner.at });
    return true;
  }
  if (!scanner.take('%{')) return false;
  scanner.take('~');
  scanner.skip(true);
  const word = scanner.identifier() ?? '';
  const directive = readDirective(scanner, word, readExpression);
  scanner.skip(true);
  scanner.take('~');
  scanner.expect('}');
  parts.other({ kind: 'directive', word, ...directive, start, end: scanner.at });
  return true;
}

function readDirective(
  scanner: Scanner,
  word: string,
  readExpression: ReadExpression,
): { readonly value?: Expression; readonly names?: readonly string[] } {
  if (word !== 'if' && word !== 'for') return {};
  const names = word === 'for' ? loopNames(scanner) : undefined;
  scanner.skip(true);
  return { value: readExpression(scanner, true), ...(names && { names }) };
}

/** The names that a loop gives to key and value, up to its `in`. */
export function loopNames(scanner: Scanner): string[] {
  const names: string[] = [];
  do {
    scanner.skip(true);
    names.push(scanner.identifier() ?? '');
    scanner.skip(true);
  } while (scanner.take(','));
  scanner.expect('in');
  return names;
}

const HEREDOC = /<<(-?)([\p{ID_Start}_][\p{ID_Continue}-]*)\r?\n/uy;

export function isHeredocStart(scanner: Scanner): boolean {
  HEREDOC.lastIndex = scanner.at;
  return HEREDOC.test(scanner.source);
}

/** Ends with its marker; the end of that line is not a part of it. */
export function readHeredoc(scanner: Scanner, readExpression: ReadExpression): Literal | Template {
  const start = scanner.at;
  HEREDOC.lastIndex = start;
  const [head = '', dash, marker = ''] = HEREDOC.exec(scanner.source) ?? [];
  scanner.at += head.length;
  const end = new RegExp(`[ \\t]*${marker}(?=[ \\t]*(?:\\r?\\n|$|[)\\],}]))`, 'y');
  const parts = new Parts();
  for (;;) {
    if (scanner.match(end) !== undefined) break;
    if (scanner.isAtEnd) throw scanner.problem(`the end of this text: ${marker}`);
    while (!scanner.isAtEnd) {
      const at = scanner.at;
      if (readSequence(scanner, parts, readExpression)) continue;
      scanner.at += 1;
      const char = scanner.source[at] ?? '';
      parts.text(char, { start: at, end: scanner.at });
      if (char === '\n') break;
    }
  }
  return parts.result({ start, end: scanner.at }, { indented: dash === '-' });
}

class Parts {
  private readonly parts: TemplatePart[] = [];

  text(text: string, { start, end }: { start: number; end: number }): void {
    const last = this.parts.at(-1);
    if (last?.kind === 'text') this.parts[this.parts.length - 1] = { ...last, text: last.text + text, end };
    else this.parts.push({ kind: 'text', text, start, end });
  }

  other(part: TemplatePart): void {
    this.parts.push(part);
  }

  result(span: { start: number; end: number }, heredoc?: { readonly indented: boolean }): Literal | Template {
    const parts = heredoc?.indented ? withoutIndent(this.parts) : this.parts;
    const mark = heredoc && { isHeredoc: true as const };
    const [only, more] = parts;
    if (!only) return { kind: 'literal', value: '', ...mark, ...span };
    if (only.kind === 'text' && !more) return { kind: 'literal', value: only.text, ...mark, ...span };
    return { kind: 'template', parts, ...mark, ...span };
  }
}

/** `<<-`: without the indentation that all lines share. Only text at the start of a line counts. */
function withoutIndent(parts: readonly TemplatePart[]): TemplatePart[] {
  let shared = Number.POSITIVE_INFINITY;
  parts.forEach((part, index) => {
    const before = parts[index - 1];
    if (part.kind !== 'text') {
      if (index === 0 || (before?.kind === 'text' && before.text.endsWith('\n'))) shared = 0;
      return;
    }
    const lines = part.text.split('\n');
    lines.forEach((line, number) => {
      const isLast = number === lines.length - 1;
      if ((number === 0 && index > 0) || (line.trim() === '' && (!isLast || index === parts.length - 1))) return;
      shared = Math.min(shared, /^[ \t]*/.exec(line)?.[0].length ?? 0);
    });
  });
  if (!Number.isFinite(shared) || shared === 0) return [...parts];
  const indent = new RegExp(`^[ \\t]{1,${shared}}`);
  return parts.map((part, index) =>
    part.kind === 'text'
      ? {
          ...part,
          text: part.text
            .split('\n')
            .map((line, number) => (number === 0 && index > 0 ? line : line.replace(indent, '')))
            .join('\n'),
        }
      : part,
  );
}
