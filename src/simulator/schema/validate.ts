/**
 * Validates the parameters of a request against the facts about its endpoint and turns them into the values handlers
 * work with. All problems are reported together, keyed by parameter.
 * [source PC RESTHandler.pm handle, JSONSchema.pm validate]
 */
import { checkObject, type Problems } from './check.ts';
import { findParamSchema } from './lookup.ts';
import { isFalse, scalarText } from './perl-text.ts';
import type { EndpointFacts, ParamSchema, ParamValue, RawParams, RawValue, ValidationContext } from './types.ts';

export type Validated =
  | { readonly ok: true; readonly values: Readonly<Record<string, ParamValue>> }
  | { readonly ok: false; readonly errors: Readonly<Record<string, string>> };

/** `raw` holds the parameters of path, query and body alike. */
export function validateParams(facts: EndpointFacts, raw: RawParams, context: ValidationContext = {}): Validated {
  const values = new Map(
    Object.entries(raw).map(([name, value]) => [name, unifyLists(findParamSchema(facts.params, name), value)]),
  );
  const problems: Problems = new Map();
  checkObject('', facts.params, values, problems, context);
  if (problems.size > 0) return { ok: false, errors: Object.fromEntries(problems) };
  const normal = [...values].map(([name, value]) => [name, normalise(findParamSchema(facts.params, name), value)]);
  return { ok: true, values: Object.fromEntries(normal) };
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
