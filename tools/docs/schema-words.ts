/** A JSON Schema in the words of the reference pages. */
import type { z } from 'zod';

export type Schema = z.core.JSONSchema.BaseSchema;

export const schemaOf = (value: unknown): Schema =>
  typeof value === 'object' && value !== null ? (value as Schema) : {};

export function typeOf(schema: Schema): string {
  if (isSize(schema)) return 'size';
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return options.map((each) => typeOf(schemaOf(each))).join(' or ');
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum) return schema.enum.map((word) => `\`${String(word)}\``).join(' ');
  if (schema.items) return `list of ${typeOf(schemaOf(schema.items))}`;
  if (schema.type === 'object') {
    return typeof schema.additionalProperties === 'object'
      ? `map of ${typeOf(schemaOf(schema.additionalProperties))}`
      : 'object';
  }
  const types = [schema.type ?? 'anything'].flat();
  return types.map((type) => (type === 'string' ? 'text' : type)).join(' or ');
}

/** A size of a world file: a number of bytes, or text. */
export function isSize(schema: Schema): boolean {
  const [bytes, text] = (schema.anyOf ?? []).map(schemaOf);
  return schema.anyOf?.length === 2 && bytes?.type === 'integer' && bytes.minimum === 0 && text?.type === 'string';
}
