/**
 * What Proxmox itself says about the key behind a field row: whether key and sub-key exist on each bus and since which
 * release, what the server assumes without them, which values it knows, what it does not allow beside them, and whether it
 * masks the value. None of it is read from the rows, so a wrong row is found.
 */
import { z } from 'zod';
import { isSince } from '../../../src/base/values/release.ts';
import type { FieldRow } from '../../../src/kinds/fields/field-table.ts';
import { textOfWords, wordsOfText } from '../../../src/kinds/fields/words.ts';
import { privilegeRules } from '../../../src/kinds/privileges/need.ts';
import { type WireRow, wireRows } from '../../../src/kinds/vm/fields/rows.ts';
import { type ConfigSubject, writeNeeds } from '../../../src/kinds/vm/privileges/config.ts';
import { compareConfigValue } from '../../../src/pve/wire/config-comparison.ts';
import { describeConfigKey, formatOfKey } from '../../../src/pve/wire/index.ts';
import { API_FACTS } from '../../../src/simulator/schema/api-facts.generated.ts';
import { apiOf } from '../../../src/simulator/schema/api-of-release.ts';
import type { ParamSchema } from '../../../src/simulator/schema/types.ts';
import { findParamSchema } from '../../../src/simulator/schema/types.ts';

const BUSES = ['ide', 'sata', 'scsi', 'virtio'] as const;

/** Sub-keys that a CD drive has a use for. The schema does not say; QEMU gets the others for disks only, or ignores them. */
const CD_DRIVE_PARTS = ['file', 'cache', 'aio', 'backup', 'serial'];

const UPDATE = 'PUT /nodes/{node}/qemu/{vmid}/config';
const PARAMS = API_FACTS[UPDATE]?.params ?? {};
const RELEASES = ['8.0', '8.1', '8.2', '8.3', '8.4', '9.0', '9.1', '9.2'] as const;
const PARAMS_OF = new Map<string, typeof PARAMS>(RELEASES.map((each) => [each, apiOf(each)[UPDATE]?.params ?? {}]));
const paramsOf = (release: string) => PARAMS_OF.get(release) ?? {};

/** Everything that is wrong with a row by these facts. */
export function factProblems(row: WireRow, schema: FieldRow['schema']): string[] {
  return [
    ...keyProblems(row),
    ...rivals(row),
    ...driveProblems(row),
    ...defaultProblems(row, schema),
    ...secrecyProblems(row, schema),
    ...releaseProblems(row),
    ...privilegeProblems(row),
    ...enumProblems(row, schema),
    ...valueReleaseProblems(row),
    ...exclusionProblems(row),
    ...orderProblems(row, schema),
  ];
}

/** Concrete keys of a row: one for each bus of a drive. */
function keysOf({ family, facts }: WireRow): string[] {
  if (family === 'drive') return (facts.buses ?? BUSES).map((bus) => `${bus}0`);
  return [describeConfigKey(family) ? family : `${family.replace('[n]', '')}0`];
}

function keyProblems(row: WireRow): string[] {
  return keysOf(row).flatMap((key) => {
    if (findParamSchema(PARAMS, key) === undefined) return [`${row.path}: Proxmox has no key ${key}`];
    if (row.part === undefined) return [];
    return hasPart(key, row.part) ? [] : [`${row.path}: Proxmox has no ${row.part} in ${key}`];
  });
}

function hasPart(key: string, part: string): boolean {
  const format = findParamSchema(PARAMS, key)?.format;
  // Formats that the server registers by name are not spelled out in its schema.
  return typeof format === 'object' ? part in format : formatOfKey(key)?.keys.has(part) === true;
}

/** Two fields cannot have the same place, unless each has its own part of the text. */
function rivals(row: WireRow): string[] {
  return wireRows()
    .filter(
      (other) =>
        other.path !== row.path && other.family === row.family && other.part === row.part && other.words === row.words,
    )
    .map((other) => `${row.path} and ${other.path} are bound to the same place`);
}

function driveProblems({ path, family, part, facts: { on, buses }, words }: WireRow): string[] {
  if (family !== 'drive' || part === undefined) {
    return on === undefined && buses === undefined ? [] : [`${path}: only an option of a drive has kinds and buses`];
  }
  const missing = BUSES.filter((bus) => hasPart(`${bus}0`, part) !== (buses ?? BUSES).includes(bus));
  const isForCds = CD_DRIVE_PARTS.includes(part) && words !== 'storage';
  return [
    ...missing.map((bus) => `${path}: whether ${bus} has ${part} is not what Proxmox says`),
    ...((on !== 'disk') === isForCds ? [] : [`${path}: whether a CD drive has ${part} is wrong`]),
  ];
}

/** A default counts where the field could say it, and where Proxwright does not choose another one for a new volume. */
function defaultProblems(row: WireRow, schema: FieldRow['schema']): string[] {
  const stated = row.facts.serverDefault;
  return keysOf(row).flatMap((key) => {
    const text = row.facts.effect === 'creation' ? undefined : defaultText(key, row.part);
    const value = text === undefined ? undefined : wordsOfText(row.words, text, key);
    const assumed = z.safeParse(schema, value).success && value !== undefined ? String(value) : undefined;
    return assumed === stated ? [] : [`${row.path}: Proxmox assumes ${assumed}, the row says ${stated}`];
  });
}

function defaultText(key: string, part: string | undefined): string | undefined {
  const known = part === undefined ? describeConfigKey(key)?.default : formatOfKey(key)?.keys.get(part)?.default;
  if (known !== undefined) return known;
  const param = findParamSchema(PARAMS, key);
  const schema: ParamSchema | undefined =
    part === undefined ? param : typeof param?.format === 'object' ? param.format[part] : undefined;
  return schema?.default === undefined ? undefined : String(schema.default);
}

/** Formats that the server registers by name are the same in all our facts: rows say more than those can. */
function releaseProblems(row: WireRow): string[] {
  const [key = ''] = keysOf(row);
  const { path, part, facts } = row;
  const aliases = [...(formatOfKey(key)?.aliases ?? [])].flatMap(([alias, name]) => (name === part ? [alias] : []));
  const has = (params: typeof PARAMS) => {
    const schema = findParamSchema(params, key);
    if (schema === undefined || part === undefined || typeof schema.format !== 'object') return schema !== undefined;
    return [part, ...aliases].some((name) => name in (schema.format as object));
  };
  const isNamed = typeof findParamSchema(PARAMS, key)?.format === 'string';
  const first = RELEASES.find((release) => has(paramsOf(release)));
  const stated = facts.since ?? '8.0';
  if (first === stated || (isNamed && first !== undefined && isSince(stated, first))) return [];
  return [`${path}: Proxmox has it since ${first}, the row says ${stated}`];
}

/** Whether a token can set the field at all. */
function privilegeProblems(row: WireRow): string[] {
  const [key = ''] = keysOf(row);
  const { path, part, facts } = row;
  const text = SOME_TEXTS[row.family] ?? (part === undefined ? 'x' : `${part}=x`);
  const set = { [key]: part === 'romfile' ? 'mapping=card,romfile=x' : text };
  const subject: ConfigSubject = {
    vmid: 101,
    paths: [{ path: '/vms/101' }],
    rules: privilegeRules({ version: '9.2.11' }),
  };
  const needs = writeNeeds(subject, { set, delete: [], destroysVolumes: false, touchesDrives: false }, new Map());
  const isRootOnly = needs.some(({ kind }) => kind === 'root');
  return isRootOnly === (facts.rootOnly ?? false) ? [] : [`${path}: whether only root may set it is wrong`];
}

/** Values that a token may write, where not every value is. */
const SOME_TEXTS: Readonly<Record<string, string | undefined>> = {
  drive: 'tank:vm-101-disk-0',
  hostpci: 'mapping=card',
  serial: 'socket',
  usb: 'spice',
};

/** A field that lists its values has all those that Proxmox has. */
function enumProblems(row: WireRow, schema: FieldRow['schema']): string[] {
  const [key = ''] = keysOf(row);
  const param = findParamSchema(PARAMS, key);
  const own = row.part === undefined ? param : typeof param?.format === 'object' ? param.format[row.part] : undefined;
  const words = (own?.enum ?? []).map((text) => wordsOfText(row.words, String(text), key));
  const missing = words.filter((word) => !z.safeParse(schema, word).success && !isLeftOut(row.path, word));
  return missing.map((word) => `${row.path}: Proxmox also has ${word}`);
}

/** A value that Proxmox added to a sub-key later has its release in the row. */
function valueReleaseProblems(row: WireRow): string[] {
  const [key = ''] = keysOf(row);
  const { path, part, facts } = row;
  const valuesOf = (release: string) => {
    const param = findParamSchema(paramsOf(release), key);
    const own = part === undefined ? param : typeof param?.format === 'object' ? param.format[part] : undefined;
    return own?.enum?.map(String);
  };
  const releases = RELEASES.filter((release) => isSince(release, facts.since ?? '8.0') && valuesOf(release));
  const later = (valuesOf('9.2') ?? []).flatMap((value) => {
    const first = releases.find((release) => valuesOf(release)?.includes(value));
    return first === releases[0] || isLeftOut(path, value) ? [] : [[value, first] as const];
  });
  const [actual, stated] = [Object.fromEntries(later), facts.valuesSince ?? {}].map((each) => JSON.stringify(each));
  return actual === stated ? [] : [`${path}: Proxmox added ${actual} later, the row says ${stated}`];
}

/** Formats that no disk should get today. */
const isLeftOut = (path: string, word: unknown) => path === 'disks.*.format' && /^(qcow|qed|cloop)$/.test(String(word));

/** Whether a field says where a value is found instead of the value; `extra` takes any name. */
export function isReference(schema: FieldRow['schema']): boolean {
  const accepts = (value: unknown) => z.safeParse(schema, value).success;
  return accepts({ env: 'NAME' }) && !accepts({ other: 'NAME' });
}

function secrecyProblems({ path, family, facts }: WireRow, schema: FieldRow['schema']): string[] {
  const isMasked = describeConfigKey(family)?.secret === true;
  return isMasked === (facts.secret ?? false) && isReference(schema) === isMasked ? [] : [`${path}: secrecy is wrong`];
}

/**
 * Sub-keys that Proxmox does not allow beside this one. Rule [source QS QemuServer/Drive.pm parse_drive]: a limit for both
 * directions together excludes those for one. Rule [source QS QemuServer/PCI.pm, USB.pm]: a device has a host address or a mapping.
 */
function rivalParts({ family, part }: WireRow): string[] {
  if (family === 'hostpci' || family === 'usb') {
    return part === 'host' ? ['mapping'] : part === 'mapping' ? ['host'] : [];
  }
  const [, unit, direction] = (family === 'drive' && /^(mbps|iops)(_rd|_wr)?$/.exec(part ?? '')) || [];
  if (unit === undefined) return [];
  const burst = unit === 'mbps' ? 'bps' : 'iops';
  return (direction === undefined ? ['_rd', '_wr'] : ['']).flatMap((other) => [
    `${unit}${other}`,
    `${unit}${other}_max`,
    `${burst}${other}_max_length`,
  ]);
}

function exclusionProblems(row: WireRow): string[] {
  const [actual, stated] = [rivalParts(row), row.facts.excludes ?? []].map((parts) => [...parts].sort().join(', '));
  return actual === stated
    ? []
    : [`${row.path}: Proxmox allows no ${actual || 'other'} beside it, the row says ${stated || 'none'}`];
}

/** The order of a list that is declared to have none must mean nothing to the client either. */
function orderProblems(row: WireRow, schema: FieldRow['schema']): string[] {
  if (!row.facts.unordered) return [];
  const [key = ''] = keysOf(row);
  const list = SOME_LISTS.find((each) => z.safeParse(schema, each).success);
  if (!list) return [`${row.path} has no order, and no list of it is known`];
  const text = (value: readonly string[]) =>
    `${row.part === undefined ? '' : `${row.part}=`}${textOfWords(row.words, [...value])}`;
  const isSame = compareConfigValue(key, text(list), text(list.toReversed())) === 'equal';
  return isSame ? [] : [`${row.path}: the order of its elements matters`];
}

const SOME_LISTS: readonly (readonly string[])[] = [
  ['a', 'b'],
  ['scsi0', 'net0'],
  ['0-1', '2'],
];
