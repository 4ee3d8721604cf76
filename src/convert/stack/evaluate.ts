/** Computes expressions of Terraform's language, if variables, locals and a state provide their values. */
import type { Access, Expression, Step, TemplatePart } from '../hcl/syntax.ts';
import { FUNCTIONS } from './functions.ts';
import type { Value } from './value.ts';

/** A value that only Terraform, or a server, knows. */
export class NotKnown extends Error {}

/** What the first name of a reference means: `var`, `local`, `each`, a type of resource. */
export type Scope = (name: string, path: readonly string[]) => Resolved | undefined;

export interface Resolved {
  readonly value: Value;
  /** How many names of the path it has used. */
  readonly used: number;
}

export function evaluate(expression: Expression, scope: Scope): Value {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'template':
      return templateText(expression.parts, scope);
    case 'variable':
      return reference(expression.name, [], scope);
    case 'access':
      return access(expression, scope);
    case 'call':
      return call(expression.name, expression.args, expression.spreads, scope);
    case 'list':
      return expression.items.map((item) => evaluate(item, scope));
    case 'object':
      return Object.fromEntries(
        expression.entries.map(({ key, value }) => [textOfValue(evaluate(key, scope)), evaluate(value, scope)]),
      );
    case 'for':
      return loop(expression, scope);
    case 'operation':
      return operation(expression.operator, expression.operands, scope);
    case 'conditional':
      return truth(evaluate(expression.condition, scope))
        ? evaluate(expression.yes, scope)
        : evaluate(expression.no, scope);
    case 'parentheses':
      return evaluate(expression.value, scope);
  }
}

function reference(name: string, path: readonly string[], scope: Scope): Value {
  const found = scope(name, path);
  if (!found) throw new NotKnown(`${[name, ...path].join('.')} is not known here`);
  return found.value;
}

function access({ of, steps }: Access, scope: Scope): Value {
  if (of.kind !== 'variable') return walk(evaluate(of, scope), steps, scope);
  const names: string[] = [];
  for (const step of steps) {
    if (step.kind !== 'attribute') break;
    names.push(step.name);
  }
  const found = scope(of.name, names);
  if (!found) throw new NotKnown(`${[of.name, ...names].join('.')} is not known here`);
  return walk(found.value, steps.slice(found.used), scope);
}

function walk(value: Value, steps: readonly Step[], scope: Scope): Value {
  const [step, ...rest] = steps;
  if (!step) return value;
  if (step.kind === 'splat') {
    const items = Array.isArray(value) ? value : value === null ? [] : [value];
    return items.map((item: Value) => walk(item, rest, scope));
  }
  const key = step.kind === 'attribute' ? step.name : evaluate(step.key, scope);
  return walk(member(value, key), rest, scope);
}

export function member(value: Value, key: Value): Value {
  const found = Array.isArray(value)
    ? value[Number(key)]
    : isObject(value) && Object.hasOwn(value, String(key))
      ? value[String(key)]
      : undefined;
  if (found === undefined) throw new NotKnown(`there is no ${JSON.stringify(key)}`);
  return found;
}

export function isObject(value: Value): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Key and value of each element: an object in the order of its keys, as Terraform iterates over a map. */
export function entriesOf(value: Value): readonly (readonly [Value, Value])[] {
  if (Array.isArray(value)) return value.map((item: Value, index) => [index, item] as const);
  if (!isObject(value)) throw new NotKnown('this is neither a list nor a map');
  return Object.keys(value)
    .sort()
    .map((key) => [key, value[key] ?? null] as const);
}

function loop(expression: Extract<Expression, { kind: 'for' }>, scope: Scope): Value {
  const { names, of, key, value, condition, groups } = expression;
  const list: Value[] = [];
  const map: Record<string, Value> = {};
  for (const [itemKey, item] of entriesOf(evaluate(of, scope))) {
    const bound = new Map<string, Value>(names.length > 1 ? [[names[0] ?? '', itemKey]] : []);
    bound.set(names.at(-1) ?? '', item);
    const inner: Scope = (name, path) => {
      const own = bound.get(name);
      return own === undefined ? scope(name, path) : { value: own, used: 0 };
    };
    if (condition && !truth(evaluate(condition, inner))) continue;
    if (!key) list.push(evaluate(value, inner));
    else {
      const name = textOfValue(evaluate(key, inner));
      const given = evaluate(value, inner);
      const before = map[name];
      map[name] = groups ? [...(Array.isArray(before) ? before : []), given] : given;
    }
  }
  return key ? map : list;
}

function operation(operator: string, operands: readonly Expression[], scope: Scope): Value {
  const [left, right] = operands;
  if (!left) throw new NotKnown('an operand is missing');
  if (!right) {
    const value = evaluate(left, scope);
    return operator === '!' ? !truth(value) : -Number(value);
  }
  if (operator === '&&') return truth(evaluate(left, scope)) && truth(evaluate(right, scope));
  if (operator === '||') return truth(evaluate(left, scope)) || truth(evaluate(right, scope));
  const [a, b] = [evaluate(left, scope), evaluate(right, scope)];
  if (operator === '==') return same(a, b);
  if (operator === '!=') return !same(a, b);
  const [x, y] = [Number(a), Number(b)];
  const results: Readonly<Record<string, Value>> = {
    '+': x + y,
    '-': x - y,
    '*': x * y,
    '/': x / y,
    '%': x % y,
    '<': x < y,
    '>': x > y,
    '<=': x <= y,
    '>=': x >= y,
  };
  const result = results[operator];
  if (result === undefined || Number.isNaN(result)) throw new NotKnown(`${operator} cannot be computed`);
  return result;
}

function same(a: Value, b: Value): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function truth(value: Value): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new NotKnown('a condition is neither true nor false');
}

export function textOfValue(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new NotKnown('this is not text');
}

function templateText(parts: readonly TemplatePart[], scope: Scope): Value {
  const [only, ...more] = parts;
  // "${…}" alone keeps the type of its value.
  if (only?.kind === 'interpolation' && more.length === 0) return evaluate(only.value, scope);
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'interpolation') return textOfValue(evaluate(part.value, scope));
      throw new NotKnown('directives of templates are not computed');
    })
    .join('');
}

function call(name: string, args: readonly Expression[], spreads: boolean, scope: Scope): Value {
  if (name === 'try' || name === 'can') {
    for (const arg of args) {
      try {
        const value = evaluate(arg, scope);
        return name === 'can' ? true : value;
      } catch (error) {
        if (!(error instanceof NotKnown)) throw error;
      }
    }
    if (name === 'can') return false;
    throw new NotKnown('no argument of try is known');
  }
  const known = FUNCTIONS[name];
  if (!known) throw new NotKnown(`${name}() is not computed`);
  const values = args.map((arg) => evaluate(arg, scope));
  const last = values.at(-1);
  const given = spreads && Array.isArray(last) ? [...values.slice(0, -1), ...last] : values;
  const result = known(...given);
  if (result === undefined) throw new NotKnown(`${name}() cannot be computed`);
  return result;
}
