/**
 * Validates the parameters of a request against the facts about its endpoint and turns them into what handlers work with:
 * typed values, and the same values as text. All problems are reported together, keyed by parameter.
 * [source PC RESTHandler.pm handle, JSONSchema.pm validate]
 */
import { checkObject, type Problems } from './check.ts';
import { isFalse, scalarText } from './perl-text.ts';
import type { EndpointFacts, ParamSchema, ParamValue, RawParams, RawValue, ValidationContext } from './types.ts';
import { findParamSchema, schemasFor, variantOf } from './types.ts';

export type Validated =
  | { readonly ok: true; readonly values: Readonly<Record<string, ParamValue>> }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

/** `raw` holds the parameters of path, query and body. */
export function validateParams(facts: EndpointFacts, raw: RawParams, context: ValidationContext = {}): Validated {
  const schemas = schemasFor(facts, raw.type);
  const values = new Map(
    Object.entries(raw).map(([name, value]) => [name, unifyLists(findParamSchema(schemas, name), value)]),
  );
  const problems: Problems = new Map();
  checkObject('', schemas, values, problems, context);
  if (problems.size > 0) return { ok: false, errors: Object.fromEntries(namedByVariant(facts, raw.type, problems)) };
  const normal = [...values].map(([name, value]) => [name, normalise(findParamSchema(schemas, name), value)]);
  return { ok: true, values: Object.fromEntries(normal) };
}

/** Rule [recorded ha-rules-node-affinity]: problems with parameters of a variant are reported under its name. */
function namedByVariant(facts: EndpointFacts, type: RawValue | undefined, problems: Problems): Problems {
  const variant = variantOf(facts, type);
  return new Map(
    [...problems].map(([name, text]) => [Object.hasOwn(variant, name) ? `oneOf[${type}].${name}` : name, text]),
  );
}

/**
 * Old and new notations of lists: an array for a list in text form is joined, a single value for an array is wrapped.
 * Only true values are touched, so an empty text or `0` for an array is refused later.
 */
function unifyLists(schema: ParamSchema | undefined, value: RawValue): RawValue {
  if (schema === undefined || value === null) return value;
  if (Array.isArray(value)) {
    const isTextList = schema.type === 'string' && typeof schema.format === 'string' && schema.format.endsWith('-list');
    return isTextList ? value.map((item) => joinable(item)).join(',') : value;
  }
  if (schema.type === 'array' && (typeof value === 'string' || typeof value === 'number')) {
    return isFalse(scalarText(value)) ? value : [value];
  }
  return value;
}

function joinable(item: RawValue): string {
  if (item === null || item === false) return item === null ? '' : '0';
  if (item === true) return '1';
  return typeof item === 'object' ? JSON.stringify(item) : scalarText(item);
}

/** Only called for values that passed their check. */
function normalise(schema: ParamSchema | undefined, value: RawValue): ParamValue {
  if (value === null) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (Array.isArray(value)) return value.map((item) => normaliseScalar(schema?.items, item));
  return normaliseScalar(schema, value);
}

function normaliseScalar(schema: ParamSchema | undefined, value: RawValue): string | number {
  const text = joinable(value);
  // Rule [recorded config-types-and-forms]: a sign passes this check but not the one of the configuration file, so it must stay.
  if (text.startsWith('+')) return text;
  return schema?.type === 'integer' || schema?.type === 'boolean' ? Number(text) : text;
}

type ValidatedParams = Readonly<Record<string, ParamValue>>;

type TypedValue = string | number | boolean | readonly (string | number | boolean)[];

/** `null` is a parameter that was sent without a value. */
export type ParamTexts = Readonly<Record<string, string | null>>;

/** Values as `api-params.generated.ts` declares them. A parameter that was sent without a value is absent. */
export function typedParams(facts: EndpointFacts, params: ValidatedParams): Readonly<Record<string, TypedValue>> {
  const schemas = schemasFor(facts, params.type);
  const typed = Object.entries(params).flatMap(([name, value]) =>
    value === null ? [] : [[name, typedValue(findParamSchema(schemas, name), value)]],
  );
  return Object.fromEntries(typed);
}

function typedValue(schema: ParamSchema | undefined, value: NonNullable<ParamValue>): TypedValue {
  if (typeof value === 'object') return value.map((item) => typedScalar(schema?.items, item));
  return typedScalar(schema, value);
}

function typedScalar(schema: ParamSchema | undefined, value: string | number): string | number | boolean {
  switch (schema?.type) {
    case 'integer':
    case 'number':
      return Number(value);
    case 'boolean':
      return Number(value) === 1;
    default:
      return String(value);
  }
}

/** The parameters that were sent with a value. */
export function sentTexts(texts: ParamTexts): [name: string, text: string][] {
  return Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== null);
}

export function paramTexts(params: ValidatedParams): ParamTexts {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      value === null ? null : typeof value === 'object' ? value.join(',') : String(value),
    ]),
  );
}
