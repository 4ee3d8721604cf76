/**
 * Lookups in the field rows of a VM: the key and sub-key that a field is bound to, with their values, and the rows that
 * are bound to a Proxmox key. Everything here is computed from the rows when it is first needed.
 */
import { invariant } from '../../../base/errors.ts';
import { once } from '../../../base/values/once.ts';
import { compareReleases, type ReleaseNumber } from '../../../base/values/release.ts';
import { allConfigKeys, describeConfigKey } from '../../../pve/wire/index.ts';
import type { FieldFacts } from '../../fields/field.ts';
import { type FieldRow, fieldRows } from '../../fields/field-table.ts';
import type { WordKind } from '../../fields/words.ts';
import { vmFieldsSchema } from './index.ts';

/** A row that is bound to a key of Proxmox's configuration. */
export interface WireRow {
  /** `disks.*.limits.read_mbps`. */
  readonly path: string;
  /** The owner of the field: a slot (`disks.*`), a drive (`efi`), or the VM itself (empty). */
  readonly owner: string;
  /** Below its owner: `limits.read_mbps`. */
  readonly name: string;
  /**
   * Proxmox's key without the number of a slot; `drive` for a slot on any bus, `numa[n]`, because `numa` is also a key.
   */
  readonly family: string;
  /** Sub-key of a property string; undefined where the field is the whole value. */
  readonly part: string | undefined;
  readonly words: WordKind;
  readonly facts: FieldFacts;
}

/** The rows of one field of a VM, or of one of its blocks: `disks`. */
export function rowsOfField(name: string): readonly FieldRow[] {
  const shape: Readonly<Record<string, FieldRow['schema']>> = vmFieldsSchema.shape;
  const known = ROWS_OF_FIELDS.get(name);
  if (known !== undefined || !Object.hasOwn(shape, name) || shape[name] === undefined) return known ?? [];
  const rows = fieldRows(shape[name], name);
  ROWS_OF_FIELDS.set(name, rows);
  return rows;
}

/** Computed for the fields that were asked for. */
const ROWS_OF_FIELDS = new Map<string, readonly FieldRow[]>();

export const vmFieldRows = once((): readonly FieldRow[] => fieldRows(vmFieldsSchema));

export const wireRows = once((): readonly WireRow[] => vmFieldRows().flatMap(wireRowsOf));

function wireRowsOf({ path, facts, schema }: FieldRow): WireRow[] {
  if (facts.wire === undefined) return [];
  const [family, part] = facts.wire;
  const owner = ownerOf(path, family);
  const name = owner === '' ? path : path.slice(owner.length + 1);
  return [{ path, owner, name, family, part, words: wordsOf(facts, schema), facts }];
}

function ownerOf(path: string, family: string): string {
  if (path.includes('*')) return path.slice(0, path.indexOf('*') + 1);
  return describeConfigKey(family)?.kind === 'drive' ? path.slice(0, path.indexOf('.')) : '';
}

function wordsOf(facts: FieldFacts, schema: FieldRow['schema']): WordKind {
  if (facts.secret) return 'secret';
  if (facts.words !== undefined) return facts.words;
  const type = valueType(schema);
  return type === 'boolean' || type === 'number' ? type : 'text';
}

/** The type of a value behind `optional` and `default`, as zod names it. */
function valueType(schema: FieldRow['schema']): string {
  // zod describes each kind of schema by `def`; the base type does not say which kinds there are.
  const { def } = schema._zod as unknown as { readonly def: { type: string; innerType?: FieldRow['schema'] } };
  return def.innerType ? valueType(def.innerType) : def.type;
}

/** Bindings to the volume of a disk rather than to the drive it is attached to. */
const VOLUME_WORDS: readonly WordKind[] = ['disk-size', 'storage', 'image-format', 'import-source'];
/** Bindings that are not simply written to a key: desired-config.ts has a function for each. */
const SPECIAL_WORDS: readonly WordKind[] = [
  ...VOLUME_WORDS,
  'medium',
  'notes',
  'ownership-line',
  'pci-address',
  'removal',
  'secret',
];

function plainRows(owner: string, family?: string): WireRow[] {
  return wireRows().filter(
    (row) =>
      row.owner === owner &&
      (family === undefined || row.family === family) &&
      (owner !== '' || !isSlotFamily(row.family)) &&
      !SPECIAL_WORDS.includes(row.words),
  );
}

/** Fields of the VM itself that are simply written to a key. */
export const vmRows = once(() => plainRows(''));
/** Options of a disk or CD drive. */
export const driveRows = once(() => plainRows('disks.*'));
/** Fields of the volume of a disk, including its source. */
export const volumeRows = once(() =>
  wireRows().filter(({ owner, words }) => owner === 'disks.*' && VOLUME_WORDS.includes(words)),
);
export const efiRows = once(() => plainRows('efi'));
export const tpmRows = once(() => plainRows('tpm'));
export const nicRows = once(() => plainRows('nics.*', 'net'));
export const pciRows = once(() => plainRows('pci.*'));
export const usbRows = once(() => plainRows('usb.*'));
export const numaRows = once(() => plainRows('numa_nodes.*'));
export const virtiofsRows = once(() => plainRows('virtiofs.*'));

export function rowAt(path: string): WireRow {
  const row = wireRows().find((each) => each.path === path);
  invariant(row !== undefined, `${path} is not bound to a key of Proxmox.`);
  return row;
}

/** The sub-key of a row that has one. */
export function partOf(row: WireRow): string {
  invariant(row.part !== undefined, `${row.path} is a whole key.`);
  return row.part;
}

/** Whether Proxmox numbers the keys of this name: `net`, `numa[n]`, but not `numa`, which is a separate key. */
function isSlotFamily(family: string): boolean {
  return (
    family === 'drive' ||
    family.endsWith('[n]') ||
    (describeConfigKey(family) === undefined && describeConfigKey(`${family}0`) !== undefined)
  );
}

/** The rows bound to a key, without the number of its slot; empty for a key that only `extra` can set. */
export function rowsOfKey(key: string): readonly WireRow[] {
  return rowsByFamily().get(familyOf(key)) ?? [];
}

function familyOf(key: string): string {
  if (rowsByFamily().has(key)) return key;
  const stem = key.replace(/\d+$/, '');
  if (stem !== key && rowsByFamily().has(`${stem}[n]`)) return `${stem}[n]`;
  const family = /^(ide|sata|scsi|virtio)$/.test(stem) ? 'drive' : stem;
  return isSlotFamily(family) ? family : key;
}

const rowsByFamily = once((): ReadonlyMap<string, readonly WireRow[]> => {
  const families = new Map<string, WireRow[]>();
  for (const row of wireRows()) families.set(row.family, [...(families.get(row.family) ?? []), row]);
  return families;
});

/** Every key of a VM's configuration that Proxmox has. */
export const configKeys = once((): ReadonlySet<string> => new Set(allConfigKeys()));

/** Whether a key has a field, so that `extra` must not name it. */
export function isModelledKey(key: string): boolean {
  return rowsOfKey(key).length > 0;
}

/** The release that introduced a sub-key, or a whole key where `part` is undefined; undefined if every release has it. */
export function sinceOf(key: string, part: string | undefined): ReleaseNumber | undefined {
  const rows = rowsOfKey(key).filter((row) => part === undefined || row.part === part);
  const releases = rows.map(({ facts }) => facts.since);
  return releases.includes(undefined) ? undefined : releases.sort((a, b) => compareReleases(a ?? '', b ?? ''))[0];
}

/** The release that introduced a value of a sub-key, if it came later than the sub-key itself. */
export function valueSinceOf(key: string, part: string | undefined, value: unknown): ReleaseNumber | undefined {
  const rows = rowsOfKey(key).filter((row) => row.part === part);
  return rows.map(({ facts }) => facts.valuesSince?.[String(value)]).find((release) => release !== undefined);
}

/** The field whose secret value is sent under this key. */
export function secretPathOf(key: string): string | undefined {
  return rowsOfKey(key).find(({ facts }) => facts.secret)?.path;
}

/** The rows of an option as a disk in the file has it: one, or all those below `limits`. */
export function rowsOfDiskOption(option: string): readonly WireRow[] {
  return diskRows().filter(({ name }) => name.split('.')[0] === option);
}

const diskRows = once(() =>
  rowsOfField('disks')
    .flatMap(wireRowsOf)
    .filter(({ owner }) => owner === 'disks.*'),
);
