/**
 * Checks values against their schema, with the server's own texts: single values, and the parts of property strings.
 * Problems are collected under the path of the value. `validate.ts` reads the request.
 * [source PC JSONSchema.pm check_object, check_prop, check_type, check_format]
 */
import { formatNamed } from './formats.ts';
import {
  isFalse,
  isIntegerText,
  isNumberText,
  matchesPerlPattern,
  referenceType,
  scalarText,
  splitList,
  textLength,
} from './perl-text.ts';
import { type PropertyValues, splitPropertyString } from './property-grammar.ts';
import {
  findParamSchema,
  type ParamSchema,
  type ParamSchemas,
  type PropertyFormat,
  type RawValue,
  type ValidationContext,
} from './types.ts';

/** Problems by path. */
export type Problems = Map<string, string>;

const UNKNOWN = 'property is not defined in schema and the schema does not allow additional properties';
const MISSING = 'property is missing and it is not optional';

export function checkObject(
  path: string,
  schemas: ParamSchemas,
  values: Map<string, RawValue>,
  problems: Problems,
  context: ValidationContext,
): void {
  const pathOf = (key: string) => (path === '' ? key : `${path}.${key}`);
  moveAliases(pathOf, schemas, values, problems);
  for (const [key, schema] of Object.entries(schemas)) {
    const isThere = key.endsWith('[n]') || (values.get(key) ?? null) !== null;
    if (!isThere && !schema.optional && schema.alias === undefined) addProblem(problems, pathOf(key), MISSING);
  }
  for (const [key, value] of values) {
    const schema = findParamSchema(schemas, key);
    if (schema !== undefined && value !== null) checkValue(pathOf(key), schema, value, problems, context);
  }
  for (const key of values.keys()) {
    const schema = findParamSchema(schemas, key);
    if (schema === undefined) {
      addProblem(problems, pathOf(key), UNKNOWN);
    } else if (schema.requires !== undefined && (values.get(schema.requires) ?? null) === null) {
      addProblem(problems, pathOf(schema.requires), `missing property required by '${pathOf(key)}'`);
    }
  }
}

function moveAliases(
  pathOf: (key: string) => string,
  schemas: ParamSchemas,
  values: Map<string, RawValue>,
  problems: Problems,
): void {
  for (const key of [...values.keys()]) {
    const alias = findParamSchema(schemas, key)?.alias;
    if (alias === undefined) continue;
    if ((values.get(alias) ?? null) !== null) {
      addProblem(problems, pathOf(key), `cannot set both '${key}' and its alias target '${alias}'`);
    } else {
      values.set(alias, values.get(key) ?? null);
      values.delete(key);
    }
  }
}

function checkValue(
  path: string,
  schema: ParamSchema,
  value: NonNullable<RawValue>,
  problems: Problems,
  context: ValidationContext,
): void {
  const typeProblem = checkType(schema.type, value);
  if (typeProblem !== undefined) {
    addProblem(problems, path, typeProblem);
  } else if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const [index, item] of value.entries()) checkItem(`${path}[${index}]`, items, item);
  } else if (typeof value === 'string' || typeof value === 'number') {
    const problem = checkScalar(path, schema, scalarText(value), context);
    if (problem !== undefined) addProblem(problems, path, problem);
  }

  function checkItem(itemPath: string, items: ParamSchema, item: RawValue): void {
    if (item !== null) checkValue(itemPath, items, item, problems, context);
    else if (!items.optional) addProblem(problems, itemPath, MISSING);
  }
}

function checkType(type: ParamSchema['type'], value: NonNullable<RawValue>): string | undefined {
  if (type === undefined) return undefined;
  const reference = referenceType(value);
  if (type === 'array') return reference === 'ARRAY' ? undefined : `type check ('array') failed`;
  if (type === 'boolean' && typeof value === 'boolean') return undefined;
  if (reference !== '') return `type check ('${type}') failed - got ${reference}`;
  const text = scalarText(value as string | number); // the only kinds without a reference type
  const fits = { string: () => true, boolean: isBooleanText, integer: isIntegerText, number: isNumberText }[type];
  return fits(text) ? undefined : `type check ('${type}') failed - got '${text}'`;
}

/** At the top level only these two; words are for property strings. */
function isBooleanText(text: string): boolean {
  return text === '0' || text === '1';
}

function checkScalar(path: string, schema: ParamSchema, text: string, context: ValidationContext): string | undefined {
  if (schema.format !== undefined) {
    const message = checkFormat(schema.format, text, path, context);
    if (message !== undefined) return `invalid format - ${message}`;
  }
  const { pattern, maxLength, minLength, maximum, minimum } = schema;
  if (pattern !== undefined && !matchesPerlPattern(pattern, text)) return 'value does not match the regex pattern';
  if (maxLength !== undefined && textLength(text) > maxLength) return `value may only be ${maxLength} characters long`;
  if (minLength !== undefined && textLength(text) < minLength) {
    return `value must be at least ${minLength} characters long`;
  }
  if (isNumberText(text)) {
    if (maximum !== undefined && Number(text) > maximum) return `value must have a maximum value of ${maximum}`;
    if (minimum !== undefined && Number(text) < minimum) return `value must have a minimum value of ${minimum}`;
  }
  if (schema.enum !== undefined && !schema.enum.includes(text)) {
    return `value '${text}' does not have a value in the enumeration '${schema.enum.join(', ')}'`;
  }
  return undefined;
}

/** The verifier's message, with its line feed, or nothing. */
export function checkFormat(
  format: string | PropertyFormat,
  text: string,
  path: string,
  context: ValidationContext,
): string | undefined {
  if (typeof format !== 'string') return problemOf(checkPropertyString(format, text, path, context));
  const [, name = format, suffix] = /^(.*?)(?:-(list|opt))?$/.exec(format) ?? [];
  const registered = formatNamed(name);
  if (registered.kind === 'property') {
    const checked = checkPropertyString(registered.properties, text, path, context);
    return checked.ok ? registered.validate?.(checked.values, context) : checked.message;
  }
  if (suffix === 'opt' && isFalse(text)) return undefined;
  for (const part of suffix === 'list' ? splitList(text) : [text]) {
    const message = registered.verify(part, context);
    if (message !== undefined) return message;
  }
  return undefined;
}

export type CheckedProperty =
  | { readonly ok: true; readonly values: PropertyValues }
  | { readonly ok: false; readonly message: string };

function problemOf(checked: CheckedProperty): string | undefined {
  return checked.ok ? undefined : checked.message;
}

export function checkPropertyString(
  format: PropertyFormat,
  text: string,
  path: string,
  context: ValidationContext,
): CheckedProperty {
  const split = splitPropertyString(format, text);
  if (!split.ok) return split;
  const problems: Problems = new Map();
  checkObject(path, format, split.values, problems, context);
  if (problems.size === 0) return split;
  const lines = [...problems].map(([key, problem]) => `${key}: ${problem}\n`);
  return { ok: false, message: `format error\n${lines.join('')}` };
}

function addProblem(problems: Problems, path: string, text: string): void {
  const key = path === '' ? '_root' : path;
  const earlier = problems.get(key);
  // The server joins with a backslash and an n, not with a line feed.
  problems.set(key, earlier === undefined ? text : `${earlier}\\n${text}`);
}
