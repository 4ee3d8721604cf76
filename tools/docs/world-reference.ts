/** The reference of the world file, out of the schema that reads it: one table for each kind of object in the file. */
import { z } from 'zod';
import { printSize } from '../../src/pve/wire/index.ts';
import { worldFileSchema } from '../../src/simulator/world/world-file.ts';
import { table } from './markdown.ts';
import { isSize, type Schema, schemaOf, typeOf } from './schema-words.ts';

/** A schema as it is written, and as it is read: only the second one knows the defaults of values that are converted. */
interface Both {
  readonly written: Schema;
  readonly read: Schema;
}

export function worldReference(): string {
  const schema = (io: 'input' | 'output') => z.toJSONSchema(worldFileSchema, { io, unrepresentable: 'any' }) as Schema;
  return describeObject('The file', '', { written: schema('input'), read: schema('output') }).join('\n\n');
}

function describeObject(title: string, path: string, both: Both): string[] {
  const keys = Object.keys(both.written.properties ?? {});
  const required = new Set(both.written.required ?? []);
  const rows = keys.map((key) => {
    const part = child(both, key);
    const fallback = required.has(key) ? 'required' : defaultOf(part);
    return [`\`${key}\``, typeOf(part.written), fallback, meaningOf(part.written)];
  });
  const below = keys.flatMap((key) => {
    const { part, name } = innermost(child(both, key), path === '' ? key : `${path}.${key}`);
    return part.written.properties ? describeObject(`\`${name}\``, name, part) : [];
  });
  return [`**${title}**`, table(['key', 'value', 'default', 'meaning'], rows), ...below];
}

function child(both: Both, key: string): Both {
  return { written: schemaOf(both.written.properties?.[key]), read: schemaOf(both.read.properties?.[key]) };
}

/** Through maps and lists to what they hold: `nodes` is a map, so its objects are called `nodes.<name>`. */
function innermost(both: Both, name: string): { readonly part: Both; readonly name: string } {
  const map = both.written.additionalProperties;
  if (typeof map === 'object') {
    return innermost({ written: map as Schema, read: schemaOf(both.read.additionalProperties) }, `${name}.<name>`);
  }
  if (both.written.items) {
    return innermost({ written: schemaOf(both.written.items), read: schemaOf(both.read.items) }, `${name}[]`);
  }
  // Something that can also be written short is described by its long form.
  const long = both.written.anyOf?.map(schemaOf).find(({ properties }) => properties);
  return { part: long ? { written: long, read: long } : both, name };
}

const SIZE_MEANING = /^Bytes, or text with a binary unit/;

function meaningOf(schema: Schema): string {
  const text = schema.description ?? '';
  return SIZE_MEANING.test(text) ? '' : text;
}

const LONGEST_DEFAULT = 60;

function defaultOf({ written, read }: Both): string {
  const value = written.default ?? read.default;
  if (value === undefined) return '';
  if (isSize(written) && typeof value === 'number' && value > 0) return `\`${printSize(value)}\``;
  const text = JSON.stringify(value);
  return `\`${text.length > LONGEST_DEFAULT ? `${text.slice(0, LONGEST_DEFAULT / 3)}…` : text}\``;
}
