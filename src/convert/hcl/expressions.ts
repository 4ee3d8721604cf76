/** Reads the expressions of Terraform's language, by recursive descent. Strings and heredocs are in `strings.ts`. */
import type { Scanner } from './scanner.ts';
import { isHeredocStart, loopNames, readHeredoc, readQuotedWith } from './strings.ts';
import type { Call, Expression, ForExpression, Literal, ObjectEntry, Step, Template } from './syntax.ts';

/** From lowest to highest precedence. */
const OPERATORS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['==', '!='],
  ['<=', '>=', '<', '>'],
  ['+', '-'],
  ['*', '/', '%'],
];

const MAX_DEPTH = 200;

/** `free`: inside brackets, where a line break has no meaning. */
export function readExpression(scanner: Scanner, free: boolean): Expression {
  scanner.depth += 1;
  if (scanner.depth > MAX_DEPTH) throw scanner.problem(`at most ${MAX_DEPTH} expressions inside each other`);
  const condition = readOperation(scanner, free, 0);
  const end = scanner.at;
  scanner.skip(free);
  let result = condition;
  if (scanner.sees('?')) {
    scanner.expect('?');
    scanner.skip(true);
    const yes = readExpression(scanner, free);
    scanner.skip(true);
    scanner.expect(':');
    scanner.skip(true);
    const no = readExpression(scanner, free);
    result = { kind: 'conditional', condition, yes, no, start: condition.start, end: no.end };
  } else scanner.at = end;
  scanner.depth -= 1;
  return result;
}

export function readQuoted(scanner: Scanner): Literal | Template {
  return readQuotedWith(scanner, readExpression);
}

function readOperation(scanner: Scanner, free: boolean, level: number): Expression {
  const operators = OPERATORS[level];
  if (!operators) return readUnary(scanner, free);
  let left = readOperation(scanner, free, level + 1);
  for (;;) {
    const end = scanner.at;
    scanner.skip(free);
    // "=>" ends the key of a for expression.
    const operator = scanner.sees('=>') ? undefined : operators.find((each) => scanner.sees(each));
    if (operator === undefined) {
      scanner.at = end;
      return left;
    }
    scanner.expect(operator);
    scanner.skip(free);
    const right = readOperation(scanner, free, level + 1);
    left = { kind: 'operation', operator, operands: [left, right], start: left.start, end: right.end };
  }
}

function readUnary(scanner: Scanner, free: boolean): Expression {
  const start = scanner.at;
  for (const operator of ['!', '-']) {
    if (!scanner.take(operator)) continue;
    scanner.skip(free);
    const operand = readUnary(scanner, free);
    return { kind: 'operation', operator, operands: [operand], start, end: operand.end };
  }
  return readAccess(scanner, free);
}

function readAccess(scanner: Scanner, free: boolean): Expression {
  const of = readTerm(scanner);
  const steps: Step[] = [];
  for (;;) {
    const end = scanner.at;
    scanner.skip(free);
    const start = scanner.at;
    if (scanner.sees('.') && !scanner.sees('...')) steps.push(readDot(scanner, start));
    else if (scanner.sees('[')) steps.push(readIndex(scanner, start));
    else {
      scanner.at = end;
      return steps.length === 0 ? of : { kind: 'access', of, steps, start: of.start, end };
    }
  }
}

function readDot(scanner: Scanner, start: number): Step {
  scanner.expect('.');
  scanner.skip(true);
  if (scanner.take('*')) return { kind: 'splat', start, end: scanner.at };
  const keyStart = scanner.at;
  const number = scanner.match(/\d+/y);
  if (number !== undefined) {
    const key = { kind: 'literal', value: Number(number), start: keyStart, end: scanner.at } as const;
    return { kind: 'index', key, start, end: scanner.at };
  }
  const name = scanner.identifier();
  if (name === undefined) throw scanner.problem('a name');
  return { kind: 'attribute', name, start, end: scanner.at };
}

function readIndex(scanner: Scanner, start: number): Step {
  scanner.expect('[');
  scanner.skip(true);
  if (scanner.take('*')) {
    scanner.skip(true);
    scanner.expect(']');
    return { kind: 'splat', start, end: scanner.at };
  }
  const key = readExpression(scanner, true);
  scanner.skip(true);
  scanner.expect(']');
  return { kind: 'index', key, start, end: scanner.at };
}

const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

function readTerm(scanner: Scanner): Expression {
  const start = scanner.at;
  if (scanner.sees('"')) return readQuoted(scanner);
  if (isHeredocStart(scanner)) return readHeredoc(scanner, readExpression);
  if (scanner.sees('(')) return readParentheses(scanner);
  if (scanner.sees('[')) return readList(scanner);
  if (scanner.sees('{')) return readObject(scanner);
  const number = scanner.match(NUMBER);
  if (number !== undefined) return { kind: 'literal', value: Number(number), start, end: scanner.at };
  const name = scanner.identifier();
  if (name === undefined) throw scanner.problem('a value');
  if (Object.hasOwn(CONSTANTS, name))
    return { kind: 'literal', value: CONSTANTS[name] ?? null, start, end: scanner.at };
  const end = scanner.at;
  // provider::name::function(…)
  let called = name;
  while (scanner.take('::')) called += `::${scanner.identifier() ?? ''}`;
  scanner.skip(false);
  if (scanner.sees('(')) return readCall(scanner, called, start);
  scanner.at = end;
  return { kind: 'variable', name, start, end };
}

function readParentheses(scanner: Scanner): Expression {
  const start = scanner.at;
  scanner.expect('(');
  scanner.skip(true);
  const value = readExpression(scanner, true);
  scanner.skip(true);
  scanner.expect(')');
  return { kind: 'parentheses', value, start, end: scanner.at };
}

function readCall(scanner: Scanner, name: string, start: number): Call {
  scanner.expect('(');
  const args: Expression[] = [];
  let spreads = false;
  for (;;) {
    scanner.skip(true);
    if (scanner.take(')')) return { kind: 'call', name, args, spreads, start, end: scanner.at };
    args.push(readExpression(scanner, true));
    scanner.skip(true);
    spreads = scanner.take('...');
    scanner.skip(true);
    if (!scanner.take(',') && !scanner.sees(')')) throw scanner.problem('"," or ")"');
  }
}

function readList(scanner: Scanner): Expression {
  const start = scanner.at;
  scanner.expect('[');
  scanner.skip(true);
  if (seesFor(scanner)) return readFor(scanner, start, ']');
  const items: Expression[] = [];
  for (;;) {
    scanner.skip(true);
    if (scanner.take(']')) return { kind: 'list', items, start, end: scanner.at };
    items.push(readExpression(scanner, true));
    scanner.skip(true);
    if (!scanner.take(',') && !scanner.sees(']')) throw scanner.problem('"," or "]"');
  }
}

function readObject(scanner: Scanner): Expression {
  const start = scanner.at;
  scanner.expect('{');
  scanner.skip(true);
  if (seesFor(scanner)) return readFor(scanner, start, '}');
  const entries: ObjectEntry[] = [];
  for (;;) {
    scanner.skip(true);
    if (scanner.take('}')) return { kind: 'object', entries, start, end: scanner.at };
    entries.push(readEntry(scanner));
    scanner.skip(false);
    if (!scanner.take(',') && !scanner.sees('}') && !scanner.isAtNewline) throw scanner.problem('"," or "}"');
  }
}

function readEntry(scanner: Scanner): ObjectEntry {
  const start = scanner.at;
  const given = readExpression(scanner, false);
  const key: Expression =
    given.kind === 'variable'
      ? { kind: 'literal', value: given.name, start: given.start, end: given.end }
      : given.kind === 'literal' && typeof given.value !== 'string'
        ? { ...given, value: String(given.value) }
        : given;
  scanner.skip(true);
  if (!scanner.take('=') && !scanner.take(':')) throw scanner.problem('"="');
  scanner.skip(true);
  const value = readExpression(scanner, false);
  return { key, value, start, end: value.end };
}

function seesFor(scanner: Scanner): boolean {
  return /^for[\s]/.test(scanner.source.slice(scanner.at, scanner.at + 4));
}

function readFor(scanner: Scanner, start: number, close: ']' | '}'): ForExpression {
  scanner.expect('for');
  const names = loopNames(scanner);
  scanner.skip(true);
  const of = readExpression(scanner, true);
  scanner.skip(true);
  scanner.expect(':');
  scanner.skip(true);
  const first = readExpression(scanner, true);
  scanner.skip(true);
  let value = first;
  const hasKey = close === '}';
  if (hasKey) {
    scanner.expect('=>');
    scanner.skip(true);
    value = readExpression(scanner, true);
    scanner.skip(true);
  }
  const groups = scanner.take('...');
  scanner.skip(true);
  let condition: Expression | undefined;
  if (/^if\b/.test(scanner.source.slice(scanner.at, scanner.at + 3))) {
    scanner.expect('if');
    scanner.skip(true);
    condition = readExpression(scanner, true);
    scanner.skip(true);
  }
  scanner.expect(close);
  return {
    kind: 'for',
    names,
    of,
    ...(hasKey && { key: first }),
    value,
    groups,
    ...(condition && { condition }),
    start,
    end: scanner.at,
  };
}
