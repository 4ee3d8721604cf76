/** Looks up facts in a zod schema by path: known keys, whether a field is secret, where a key belongs. */
import { z } from 'zod';
import { fieldFacts } from '../../kinds/fields/field.ts';
import type { Path } from '../located.ts';

/** A schema and all that it wraps; every option of a union. zod types its own children loosely: each of them is a schema. */
function layers(schema: z.ZodType): z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return [schema, ...layers(schema.unwrap() as z.ZodType)];
  }
  if (schema instanceof z.ZodPipe) return [schema, ...layers(schema.in as z.ZodType)];
  if (schema instanceof z.ZodUnion) return [schema, ...schema.options.flatMap((option) => layers(option as z.ZodType))];
  return [schema];
}

function step(schema: z.ZodType, part: string | number): z.ZodType[] {
  if (schema instanceof z.ZodObject) return Object.hasOwn(schema.shape, part) ? [schema.shape[part] as z.ZodType] : [];
  if (schema instanceof z.ZodRecord) return [schema.valueType as z.ZodType];
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType];
  return [];
}

function schemasAt(schema: z.ZodType, path: Path): z.ZodType[] {
  return path.reduce<z.ZodType[]>(
    (found, part) => found.flatMap((each) => step(each, part)).flatMap(layers),
    layers(schema),
  );
}

/** Keys of the map at a path; none if the user chooses the keys. */
export function keysAt(schema: z.ZodType, path: Path): string[] {
  return schemasAt(schema, path).flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : []));
}

export function isSecretAt(schema: z.ZodType, path: Path): boolean {
  return path.some((_, index) =>
    schemasAt(schema, path.slice(0, index + 1)).some((each) => fieldFacts.get(each)?.secret === true),
  );
}

/** The parent that a misplaced key belongs under: `cpu` for `cores`. */
export function homeOf(key: string, schema: z.ZodType): string | undefined {
  return keysAt(schema, []).find((parent) => keysAt(schema, [parent]).includes(key));
}
