/** From validated parameters to what handlers work with: typed values, and the same values as text. */
import { findParamSchema } from './lookup.ts';
import type { ParamSchema, ParamSchemas, ParamValue } from './types.ts';

type ValidatedParams = Readonly<Record<string, ParamValue>>;

export type TypedValue = string | number | boolean | readonly (string | number | boolean)[];

/** `null` is a parameter that was sent without a value. */
export type ParamTexts = Readonly<Record<string, string | null>>;

/** Values as `api-params.generated.ts` declares them. A parameter that was sent without a value is absent. */
export function typedParams(schemas: ParamSchemas, params: ValidatedParams): Readonly<Record<string, TypedValue>> {
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
