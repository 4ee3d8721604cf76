/**
 * Messages for text that is not YAML. One mistake confuses the parser for the rest of the file, so only the first is
 * reported, at the place to correct. The parser's own messages are not used: they quote the text, which may contain a
 * password.
 */
import { type Document, type ErrorCode, isCollection, isScalar, visit } from 'yaml';

export interface SyntaxProblem {
  readonly offset: number;
  readonly detail: string;
  readonly hint: string;
}

const WORDS = {
  BAD_ALIAS: 'An alias (*name) is malformed. Put text that begins with * into quotes.',
  BAD_COLLECTION_TYPE: 'A tag does not match the kind of value after it.',
  BAD_DIRECTIVE: 'A line that begins with % is a YAML directive, which stack files do not support.',
  BAD_DQ_ESCAPE: 'Text in double quotes has an unknown \\ escape. Use single quotes, or write \\\\.',
  BAD_INDENT: 'The indentation does not match the lines above.',
  BAD_SCALAR_START: 'A value begins with a character that needs quotes (@, ` or %).',
  BLOCK_AS_IMPLICIT_KEY:
    'There are two keys on one line. Put the second on its own line, or put text with ": " into quotes.',
  BLOCK_IN_FLOW: 'Indented lists and maps are not allowed inside [ ] or { }. A comma may be missing.',
  DUPLICATE_KEY: 'This key occurs twice in the same map.',
  MISSING_CHAR: 'A closing quote, bracket or separator is missing.',
  MULTILINE_IMPLICIT_KEY: 'A key cannot span several lines. The ":" or the space after it may be missing.',
  MULTIPLE_DOCS: 'The file contains several YAML documents (---), but a file describes one stack.',
  TAB_AS_INDENT: 'The indentation contains a tab. YAML requires spaces.',
  TAG_RESOLVE_FAILED: 'Stack files do not support YAML tags (!name).',
  UNEXPECTED_TOKEN: 'There is an unexpected token. Quotes may be missing or misplaced.',
} as const satisfies Partial<Record<ErrorCode, string>>;

/** Mistakes that do not confuse the parser; each of them is reported. */
const HARMLESS: ReadonlySet<ErrorCode> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);

const LOOK_HERE = 'Check this line and the one above it. An editor with YAML support shows the place.';
const HINTS: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'Keep one of them.',
  TAG_RESOLVE_FAILED: 'Remove the tag, or put the text into quotes.',
};
const ALIGN = 'Give all keys of one map the same number of spaces. An editor with YAML support shows the place.';

/** In the order of the text, up to and including the first that confuses the parser. */
export function syntaxProblems(document: Document.Parsed, text: string): readonly SyntaxProblem[] {
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  const first = errors.find(({ code }) => !HARMLESS.has(code));
  if (!first) return errors.map(({ code, pos }) => generic(code, pos[0]));
  const [offset] = first.pos;
  const codes = new Set(errors.filter(({ pos }) => Math.abs(pos[0] - offset) <= 1).map(({ code }) => code));
  const problem =
    bareReference(text, offset) ??
    openQuote(document, text, codes) ??
    openBracket(document, text, offset) ??
    tab(text, first.code, offset) ??
    indentation(text, codes, offset) ??
    generic(first.code, offset);
  const before = errors.slice(0, errors.indexOf(first)).filter(({ pos }) => pos[0] < problem.offset);
  return [...before.map(({ code, pos }) => generic(code, pos[0])), problem];
}

function generic(code: ErrorCode, offset: number): SyntaxProblem {
  const words: Partial<Record<ErrorCode, string>> = WORDS;
  return { offset, detail: words[code] ?? 'This is not valid YAML.', hint: HINTS[code] ?? LOOK_HERE };
}

/** `{ cores: ${var.cpus} }`: inside brackets YAML takes the `{` for a map. */
function bareReference(text: string, offset: number): SyntaxProblem | undefined {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset) < 0 ? text.length : text.indexOf('\n', offset);
  const line = text.slice(start, end);
  const unquoted = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, (quoted) => ' '.repeat(quoted.length));
  const column = unquoted.lastIndexOf('${', offset - start);
  const isHere = start + column === offset - 1;
  if (column < 0 || !(isHere || /[[{]/.test(unquoted.slice(0, column)))) return undefined;
  const reference = /^\$\{\s*[\w.]+\s*\}/.exec(unquoted.slice(column))?.[0] ?? `\${…}`;
  return {
    offset: start + column,
    detail: `A value with \${…} inside { } or [ ] has no quotes, so YAML reads its { as the start of a map.`,
    hint: `Put the whole value into quotes: "${reference}".`,
  };
}

/** The parser complains at the end of the file; the author has to look where the quote was opened. */
function openQuote(document: Document.Parsed, text: string, codes: ReadonlySet<ErrorCode>): SyntaxProblem | undefined {
  if (!codes.has('MISSING_CHAR')) return undefined;
  let offset: number | undefined;
  visit(document, (_, node) => {
    if (!isScalar(node) || !node.range || !/^QUOTE/.test(node.type ?? '')) return undefined;
    const [start, end] = node.range;
    if (end > start + 1 && text[end - 1] === text[start]) return undefined;
    offset = start;
    return visit.BREAK;
  });
  if (offset === undefined) return undefined;
  return { offset, detail: 'The quote that begins here is not closed.', hint: `Close it with ${text[offset]}.` };
}

function openBracket(document: Document.Parsed, text: string, at: number): SyntaxProblem | undefined {
  let offset: number | undefined;
  visit(document, (_, node) => {
    if (!isCollection(node) || !node.flow || !node.range || node.range[0] >= at || node.range[1] < at) return undefined;
    if (!/[\]}]/.test(text.slice(node.range[0], node.range[1]).trimEnd().at(-1) ?? '')) offset = node.range[0];
    return undefined;
  });
  if (offset === undefined) return undefined;
  const closing = text[offset] === '[' ? ']' : '}';
  return { offset, detail: 'The bracket that begins here is not closed.', hint: `Close it with ${closing}.` };
}

function tab(text: string, code: ErrorCode, offset: number): SyntaxProblem | undefined {
  if (code !== 'TAB_AS_INDENT') return undefined;
  const lines = text.split('\n').filter((line) => /^ *\t\s*\S/.test(line)).length;
  const others = lines > 1 ? ` (${lines} lines have one)` : '';
  return {
    offset,
    detail: `The indentation contains a tab${others}. YAML requires spaces.`,
    hint: 'Replace every tab at the start of a line by spaces.',
  };
}

/** A line that is indented too far reads as the continuation of the value above it. */
function indentation(text: string, codes: ReadonlySet<ErrorCode>, offset: number): SyntaxProblem | undefined {
  const isTooFar = codes.has('BLOCK_AS_IMPLICIT_KEY') && codes.has('MULTILINE_IMPLICIT_KEY');
  if (!isTooFar && !codes.has('BAD_INDENT')) return undefined;
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const isOwnLine = text.slice(start, offset).trim() === '';
  const end = text.indexOf('\n', offset);
  const from = isOwnLine || end < 0 ? start : end + 1;
  // The parser may point at an empty line or a comment before the line it means.
  const skipped = /^(?:[ \t]*(?:#.*)?\r?\n)*[ \t]*/.exec(text.slice(from))?.[0].length ?? 0;
  return { offset: from + skipped, detail: WORDS.BAD_INDENT, hint: ALIGN };
}
