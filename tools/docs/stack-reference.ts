/** The reference of the stack file, out of the field table and of the schemas around it: one table for each section. */
import { z } from 'zod';
import type { Effect } from '../../src/kinds/fields/field.ts';
import { type FieldRow, fieldRows } from '../../src/kinds/fields/field-table.ts';
import { imageFieldsSchema } from '../../src/kinds/image/fields.ts';
import { vmFieldsSchema } from '../../src/kinds/vm/fields/index.ts';
import {
  connectionSchema,
  diskImageSchema,
  groupKeysSchema,
  outputsSchema,
  placementKeysSchema,
  rolloutSchema,
  stateSchema,
  templateKeysSchema,
  variableSchema,
} from '../../src/spec/stack-schema.ts';
import { table } from './markdown.ts';
import { type Schema, schemaOf, typeOf } from './schema-words.ts';

function effectWords(effect: Effect): string {
  if (typeof effect === 'object') return `immediately if ${effect.when}`;
  return { live: 'immediately', restart: 'after a restart', creation: 'at creation', none: '—' }[effect];
}

/** Fields of a VM: a table for those that stand alone, then one for each group of them. */
export function vmReference(): string {
  const rows = fieldRows(vmFieldsSchema).flatMap((row) =>
    // No field of a VM: it is replaced before the VM's fields are read.
    row.path === 'disks.*.iso' ? [...fieldRows(diskImageSchema, 'disks.*.image'), row] : [row],
  );
  const sectionOf = ({ path }: FieldRow) => (path.includes('.') ? (path.split('.')[0] ?? '') : '');
  const names = ['', ...new Set(rows.map(sectionOf).filter((name) => name !== ''))];
  return names
    .map((name) => {
      const title = name === '' ? '### A VM itself' : `### \`${name}\``;
      return [title, fieldTable(rows.filter((row) => sectionOf(row) === name))].join('\n\n');
    })
    .join('\n\n');
}

function fieldTable(rows: readonly FieldRow[]): string {
  return table(
    ['field', 'value', 'a change takes effect', 'Proxmox key', 'default', 'meaning'],
    rows.map((row) => [
      `\`${row.path}\``,
      valueWords(row),
      effectWords(row.facts.effect),
      row.facts.wire === undefined ? '' : `\`${row.facts.wire.join('.')}\``,
      defaultOf(row),
      meaningOf(row),
    ]),
  );
}

/** What surrounds the VMs; none of it is a setting of a VM. */
export function sectionsReference(): string {
  const sections: readonly (readonly [title: string, prefix: string, schema: z.ZodType])[] = [
    ['### `connection`', 'connection', connectionSchema],
    ['### `state`', 'state', stateSchema],
    ['### `variables`', 'variables.*', variableSchema],
    ['### `images`', 'images.*', imageFieldsSchema],
    ['### A template under `templates`, beside the fields of its VM', '', templateKeysSchema],
    ['### A group under `vms`, beside the fields of its VMs', '', groupKeysSchema],
    ['### In a group or under `defaults`, instead of `node`', '', placementKeysSchema],
    ['### `rollout`', 'rollout', rolloutSchema],
    ['### `outputs`', 'outputs', outputsSchema],
  ];
  return sections
    .map(([title, prefix, schema]) => {
      const rows = [...fieldRows(schema, prefix), ...(schema === rolloutSchema ? rolloutParts() : [])];
      const cells = rows.map((row) => [`\`${row.path}\``, valueWords(row), defaultOf(row), meaningOf(row)]);
      return [title, table(['key', 'value', 'default', 'meaning'], cells)].join('\n\n');
    })
    .join('\n\n');
}

/** Maps that are filled in as a whole where they are missing; the field table does not look into them. */
function rolloutParts(): FieldRow[] {
  const { retry, limits, timeouts } = rolloutSchema.shape;
  return Object.entries({ retry, limits, timeouts }).flatMap(([name, part]) =>
    fieldRows(part.unwrap(), `rollout.${name}`),
  );
}

function valueWords({ schema, facts }: FieldRow): string {
  const accepts = (value: unknown) => z.safeParse(schema, value).success;
  if (facts.secret && accepts({ env: 'NAME' })) return 'where the secret is found';
  const reads = (text: string, number: number) => z.safeParse(schema, text).data === number;
  const unit = reads('64MiB', 64 * 1024 ** 2) ? 'size' : reads('30s', 30_000) ? 'duration' : undefined;
  if (unit !== undefined) return accepts(false) ? `${unit} or \`false\`` : unit;
  const written = jsonOf(schema);
  return [typeOf(written), rangeOf(written)].filter(Boolean).join(' ');
}

/** The bounds of a number, where there are some that say more than its type. */
function rangeOf(schema: Schema): string {
  const numbers = [schema, ...(schema.anyOf ?? []).map(schemaOf)].find(
    ({ type }) => type === 'integer' || type === 'number',
  );
  const bound = (value: number | undefined) =>
    value !== undefined && Number.isSafeInteger(value) && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;
  const [least, most] = [bound(numbers?.minimum), bound(numbers?.maximum)];
  if (least !== undefined && most !== undefined) return `${least}–${most}`;
  return least === undefined ? '' : `from ${least}`;
}

function defaultOf({ schema, facts }: FieldRow): string {
  const value = jsonOf(schema).default;
  if (value !== undefined) return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  return facts.serverDefault === undefined ? '' : `Proxmox: \`${facts.serverDefault}\``;
}

function meaningOf({ facts }: FieldRow): string {
  const examples = (facts.examples ?? []).map((example) => `\`${String(example)}\``).join(', ');
  const sentences = [
    facts.description,
    facts.since === undefined ? '' : `Since Proxmox VE ${facts.since}.`,
    facts.rootOnly ? 'Only root@pam, logged in with a password, can set it.' : '',
    examples === '' ? '' : `Example: ${examples}`,
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

const jsonOf = (schema: z.core.$ZodType): Schema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
