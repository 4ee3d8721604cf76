/**
 * Reads a Terraform file: blocks and attributes with their positions. Expressions are read by `expressions.ts`. Nothing
 * of the source is lost: what no node covers is white space, comments and punctuation.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { readExpression, readQuoted } from './expressions.ts';
import { Scanner } from './scanner.ts';
import type { Attribute, Block, Expression, FileBody, Item, Label } from './syntax.ts';

export function readBody(source: string, file: string): FileBody {
  const scanner = new Scanner(source, file);
  scanner.skipByteOrderMark();
  const start = scanner.at;
  const items = readItems(scanner);
  if (!scanner.isAtEnd) throw scanner.problem('a block or an attribute');
  const comments = [...scanner.comments].map(([from, end]) => ({ start: from, end }));
  return { start, end: scanner.at, items, comments };
}

/** An expression on its own, as in a file of variables. */
export function readExpressionText(source: string, file: string): Expression {
  const scanner = new Scanner(source, file);
  scanner.skip(true);
  const expression = readExpression(scanner, true);
  scanner.skip(true);
  if (!scanner.isAtEnd) throw scanner.problem('the end of the expression');
  return expression;
}

/** Deeper than any real file. */
const MAX_DEPTH = 100;

function readItems(scanner: Scanner, depth = 0): Item[] {
  if (depth > MAX_DEPTH) throw scanner.problem(`at most ${MAX_DEPTH} blocks inside each other`);
  const items: Item[] = [];
  for (;;) {
    scanner.skip(true);
    if (scanner.isAtEnd || scanner.sees('}')) return items;
    items.push(readItem(scanner, depth));
    scanner.skip(false);
    if (!scanner.isAtEnd && !scanner.sees('}') && !scanner.isAtNewline) throw scanner.problem('a new line');
  }
}

function readItem(scanner: Scanner, depth: number): Attribute | Block {
  const start = scanner.at;
  const name = scanner.identifier();
  if (name === undefined) throw scanner.problem('the name of a block or an attribute');
  scanner.skip(false);
  if (scanner.sees('=') && !scanner.sees('==')) {
    scanner.expect('=');
    scanner.skip(false);
    const value = readExpression(scanner, false);
    return { kind: 'attribute', name, value, start, end: value.end };
  }
  const labels: Label[] = [];
  for (;;) {
    scanner.skip(false);
    if (scanner.sees('{')) break;
    labels.push(readLabel(scanner));
  }
  scanner.expect('{');
  const bodyStart = scanner.at;
  const items = readItems(scanner, depth + 1);
  const body = { start: bodyStart, end: scanner.at, items };
  scanner.expect('}');
  return { kind: 'block', type: name, labels, body, start, end: scanner.at };
}

function readLabel(scanner: Scanner): Label {
  const start = scanner.at;
  if (!scanner.sees('"')) {
    const text = scanner.identifier();
    if (text === undefined) throw scanner.problem('"=", "{" or a label');
    return { text, start, end: scanner.at };
  }
  const quoted = readQuoted(scanner);
  if (quoted.kind !== 'literal') {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: 'A label of a block cannot have interpolations.',
      where: scanner.whereOf(start),
    });
  }
  return { text: String(quoted.value), start, end: scanner.at };
}
