/** The rows of a field table: every field of a schema with its path and facts. `*` stands for any slot or name. */
import type { z } from 'zod';
import { type FieldFacts, fieldFacts } from './field.ts';

export interface FieldRow {
  /** `disks.*.size`. */
  readonly path: string;
  readonly facts: FieldFacts;
  readonly schema: z.core.$ZodType;
}

export function fieldRows(schema: z.core.$ZodType, path = ''): FieldRow[] {
  const facts = fieldFacts.get(schema);
  if (facts) return [{ path, facts, schema }];
  // zod describes each kind of schema by `def`; the base type does not say which kinds there are.
  const { def } = schema._zod as unknown as { readonly def: Definition };
  const below = (step: string) => (path === '' ? step : `${path}.${step}`);
  switch (def.type) {
    case 'object':
      return Object.entries(def.shape).flatMap(([name, inner]) => fieldRows(inner, below(name)));
    case 'record':
      return fieldRows(def.valueType, below('*'));
    case 'union':
      return def.options.flatMap((option) => fieldRows(option, path));
    case 'optional':
    case 'default':
      return fieldRows(def.innerType, path);
    default:
      return [];
  }
}

/** The value at a path without `*`; undefined where something on the way is missing. */
export function valueAt(owner: object, path: string): unknown {
  return path.split('.').reduce<unknown>(
    // Fields are plain data, so a missing step is undefined.
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined,
    owner,
  );
}

type Definition =
  | { readonly type: 'object'; readonly shape: Readonly<Record<string, z.core.$ZodType>> }
  | { readonly type: 'record'; readonly valueType: z.core.$ZodType }
  | { readonly type: 'union'; readonly options: readonly z.core.$ZodType[] }
  | { readonly type: 'optional' | 'default'; readonly innerType: z.core.$ZodType }
  | { readonly type: 'other' };
