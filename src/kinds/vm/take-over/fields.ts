/**
 * The stack fields of an existing VM: the field rows in reverse, from Proxmox's configuration to the stack file. The result
 * is valid according to the schema and has no differences from the VM.
 */
import { isDeepStrictEqual } from 'node:util';
import { vmAddress } from '../../../base/address.ts';
import { invariant } from '../../../base/errors.ts';
import type { HaResource } from '../../../pve/index.ts';
import type { Lines } from '../../existing.ts';
import { wordsOfText } from '../../fields/words.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { type Drive, diskPartText, drivesOf } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import { diffVm } from '../diff/diff.ts';
import { type VmFields, vmFieldsSchema } from '../fields/index.ts';
import {
  driveRows,
  efiRows,
  isModelledKey,
  nicRows,
  numaRows,
  partOf,
  pciRows,
  rowAt,
  rowsOfKey,
  tpmRows,
  usbRows,
  virtiofsRows,
  vmRows,
  type WireRow,
} from '../fields/rows.ts';
import { writtenHa } from '../ha.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { stripOwnership } from '../ownership.ts';
import { violationsOf } from '../rules/index.ts';
import { heldSeed } from '../seed/seed-place.ts';
import { bareVm } from '../stack.ts';

/** A part of a stack file, not validated yet. */
type Tree = { [key: string]: unknown };

export interface ImportedFields {
  /** As written in a stack file, where `$${` stands for `${`. */
  readonly written: Readonly<Tree>;
  /** The same without escaping. */
  readonly plain: Readonly<Tree>;
  readonly fields: VmFields;
  /** What the VM has and the file cannot express. */
  readonly leftOut: readonly string[];
}

/** Proxmox's internal values, identity, and what cannot be read back. */
const NOT_SETTINGS =
  /^(smbios1|vmgenid|meta|digest|lock|template|parent|snaptime|snapstate|vmstate|runningmachine|runningcpu|running-nets-host-mtu|cipassword|unused\d+)$/;

/** `ha`: its HA resource, if it has one. */
export function fieldsOfVm(observed: VmObserved, ha?: HaResource): ImportedFields {
  const values = effectiveValues(observed);
  const tree: Tree = { name: `vm-${observed.vmid}`, vmid: observed.vmid, node: observed.node };
  const leftOut: string[] = [];
  readRows(tree, vmRows(), (row) => values.get(row.family), '');
  // Required in this block; the server omits it if it is off.
  if (isTree(tree.agent)) tree.agent = { enabled: false, ...tree.agent };
  const notes = stripOwnership(values.get('description') ?? '').trim();
  if (notes !== '') tree.description = notes;
  const seed = heldSeed(values);
  if (seed) {
    leftOut.push(`cloud_init.user_data: it is on the ISO image in ${seed.key} and cannot be read back`);
    // A file with this order would have to have a drive in that slot.
    if (Array.isArray(tree.boot) && tree.boot.includes(seed.key)) {
      leftOut.push(`boot: ${tree.boot.join(', ')} (${seed.key} has the cloud-init files)`);
      delete tree.boot;
    }
  }
  for (const drive of drivesOf(values)) {
    if (drive.key !== seed?.key) readDrive(tree, drive, values.get(drive.key) ?? '');
  }
  for (const [key, text] of values) {
    if (isHostUsb(key, text)) leftOut.push(`${key}: ${text} (${HOST_USB})`);
    else readSlot(tree, key, text);
    leftOut.push(...partsWithoutField(key, text));
    if (key === 'cipassword') leftOut.push('cloud_init.password: it cannot be read back');
    if (isModelledKey(key) || NOT_SETTINGS.test(key)) continue;
    put(tree, `extra.${key}`, wordsOfText('raw', text, key));
  }
  readAddresses(tree, values);
  if (!observed.running) tree.power = 'stopped';
  if (ha) tree.ha = writtenHa(ha);
  return settled(tree, observed, leftOut);
}

const HOST_USB = 'a USB device or port of the host, which only root@pam can set; with a mapping, the file can name it';

function isHostUsb(key: string, text: string): boolean {
  const host = /^usb\d+$/.test(key) ? propertyOf(key, text).get('host') : undefined;
  return host !== undefined && host !== 'spice';
}

/** Sub-keys of Proxmox that no field sets: they stay as they are, whatever else changes. */
function partsWithoutField(key: string, text: string): string[] {
  const rows = rowsOfKey(key);
  if (rows.length === 0 || rows.some(({ part, words }) => part === undefined && words !== 'removal')) return [];
  const isKnown = (part: string) => rows.some((row) => row.part === part) || NOT_PARTS.has(part);
  return [...propertyOf(key, text).entries].flatMap(([part, value]) =>
    isKnown(part) ? [] : [`${key}: ${part}=${value} (no field sets it; it stays as it is)`],
  );
}

/** Sub-keys that Proxmox derives: uuid and encoding of the SMBIOS table, the kind of a drive. */
const NOT_PARTS = new Set(['media', 'size', 'format', 'file', 'uuid', 'base64']);

function readRows(
  tree: Tree,
  rows: readonly WireRow[],
  textOf: (row: WireRow) => string | undefined,
  path: string,
  slot?: string,
): void {
  for (const row of rows) {
    const key = slot ?? row.family;
    const text = textOf(row);
    const part = row.part === undefined || text === undefined ? text : propertyOf(key, text).get(row.part);
    if (part === undefined || part.trim() === '') continue;
    const value = wordsOfText(row.words, part, key);
    if (value === null || (Array.isArray(value) && value.length === 0)) continue;
    put(tree, path === '' ? row.name : `${path}.${row.name}`, value);
  }
}

function readDrive(tree: Tree, drive: Drive, text: string): void {
  const { key } = drive;
  const place = (path: string, part: string) => put(tree, path, diskPartText(key, part, text));
  if (key === 'efidisk0') {
    place('efi.storage', 'storage');
    readRows(tree, efiRows(), () => text, 'efi', key);
  } else if (key === 'tpmstate0') {
    place('tpm.storage', 'storage');
    readRows(tree, tpmRows(), () => text, 'tpm', key);
  } else if (drive.kind === 'cloud-init') {
    place('cloud_init.storage', 'storage');
    put(tree, 'cloud_init.slot', key);
  } else {
    const path = `disks.${key}`;
    if (drive.kind === 'cdrom') put(tree, `${path}.iso`, wordsOfText('medium', drive.file, key));
    else {
      put(tree, `${path}.size`, wordsOfText('disk-size', drive.value.get('size'), key));
      place(`${path}.storage`, 'storage');
      place(`${path}.format`, 'format');
    }
    readRows(tree, driveRows(), () => text, path, key);
  }
}

function readSlot(tree: Tree, key: string, text: string): void {
  if (/^net\d+$/.test(key)) readRows(tree, nicRows(), () => text, `nics.${key}`, key);
  else if (/^usb\d+$/.test(key)) readRows(tree, usbRows(), () => text, `usb.${key}`, key);
  else if (/^numa\d$/.test(key)) readRows(tree, numaRows(), () => text, `numa_nodes.${key}`, key);
  else if (/^virtiofs\d$/.test(key)) readRows(tree, virtiofsRows(), () => text, `virtiofs.${key}`, key);
  else if (/^serial\d+$/.test(key)) put(tree, `serial.${key}`, text);
  else if (/^hostpci\d+$/.test(key)) {
    readRows(tree, pciRows(), () => text, `pci.${key}`, key);
    put(tree, `pci.${key}.device`, propertyOf(key, text).get(partOf(rowAt('pci.*.device'))));
  }
}

/** Addresses belong to a NIC; those without a NIC have no effect. */
function readAddresses(tree: Tree, values: ReadonlyMap<string, string>): void {
  for (const [key, text] of values) {
    const slot = /^ipconfig(\d+)$/.exec(key)?.[1];
    if (slot === undefined || !values.has(`net${slot}`)) continue;
    const value = propertyOf(key, text);
    for (const field of ['ipv4', 'ipv6']) {
      const partText = (name: string) => value.get(partOf(rowAt(`nics.*.${field}.${name}`)));
      const [address, gateway] = [partText('address'), partText('gateway')];
      if (address === undefined) continue;
      const isKeyword = address === 'dhcp' || address === 'auto';
      put(
        tree,
        `nics.net${slot}.${field}`,
        isKeyword ? address : { address, ...(gateway !== undefined && { gateway }) },
      );
    }
  }
}

/** A name is required and may be generated, and the ownership line is not in the file, so these two may differ. */
const MAY_DIFFER = new Set(['name', 'ownership']);

/** Removes what the schema rejects and what would differ from the VM, until nothing is left to remove. */
function settled(tree: Tree, observed: VmObserved, leftOut: string[]): ImportedFields {
  if (!vmFieldsSchema.shape.name.safeParse(tree.name).success) tree.name = `vm-${observed.vmid}`;
  for (;;) {
    const parsed = vmFieldsSchema.safeParse(tree);
    const [wrong] = parsed.success
      ? [...untrue(parsed.data, observed), ...refused(parsed.data)]
      : parsed.error.issues.map(({ path, message }) => ({ path: path.map(String), why: message }));
    if (parsed.success && !wrong) return { written: escaped(tree), plain: tree, fields: parsed.data, leftOut };
    const { path, why } = wrong ?? { path: [], why: '' };
    invariant(path[0] !== undefined && path[0] in tree, `${path.join('.')} is not in the tree.`);
    leftOut.push(`${path.join('.')}: ${JSON.stringify(takeOut(tree, path))} (${why})`);
  }
}

/** A field that cannot stay, and why. */
interface Misfit {
  readonly path: readonly string[];
  readonly why: string;
}

function untrue(fields: VmFields, observed: VmObserved): Misfit[] {
  return diffVm(desiredConfig(fields, {}), observed, undefined)
    .differences.filter(({ path }) => !MAY_DIFFER.has(path))
    .map(({ path }) => ({ path: path.split('.'), why: 'a stack file cannot express this value' }));
}

/** Fields that the stack rules reject, such as an address without a cloud-init drive. */
function refused(fields: VmFields): Misfit[] {
  return violationsOf(bareVm(vmAddress('vm'), fields))
    .filter(({ severity = 'error' }) => severity === 'error')
    .map(({ path, detail }) => ({ path: path.split('.'), why: detail }));
}

/** Removes the value at `path` or, if there is none, the nearest value above it, so that the loop always ends. */
function takeOut(tree: Tree, path: readonly string[]): unknown {
  const [key = '', ...rest] = path;
  const below = tree[key];
  if (rest.length > 0 && isTree(below)) {
    const before = structuredClone(below);
    const taken = takeOut(below, rest);
    if (Object.keys(below).length === 0) delete tree[key];
    if (!isDeepStrictEqual(before, below)) return taken;
  }
  delete tree[key];
  return below;
}

/** In a file, `${` starts a reference. */
function escaped<Value>(value: Value): Value {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${') as Value & string; // still a text
  if (Array.isArray(value)) return value.map(escaped) as Value & unknown[]; // still a list
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, escaped(entry)])) as Value & Tree; // still a map
}

function put(tree: Tree, path: string, value: unknown): void {
  if (value === undefined || value === null) return;
  const steps = path.split('.');
  const last = steps.pop() ?? path;
  let owner = tree;
  for (const step of steps) {
    const next = owner[step];
    const below = isTree(next) ? next : {};
    owner[step] = below;
    owner = below;
  }
  owner[last] = value;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface FittedLines {
  readonly written: Readonly<Tree>;
  /** The fields of the VM with the lines added to the file. */
  readonly fields: VmFields;
}

/**
 * Fits the lines into the user's file. Defaults of the file apply to every VM; those that do not match this VM are reset by
 * `null` in its lines, so that the next plan is empty. `untruePaths` returns the fields that differ from the VM.
 */
export async function fittedLines(
  found: ImportedFields,
  read: (written: Lines) => Promise<VmFields | undefined>,
  untruePaths: (fields: VmFields) => readonly string[],
): Promise<FittedLines> {
  let written = found.written;
  for (;;) {
    const fields = await read(written);
    if (!fields) return found;
    const fitted = untruePaths(fields).reduce(withNull, written);
    if (fitted === written) return { written, fields };
    written = fitted;
  }
}

/** Resets a default at `path`, unless the lines set it themselves. */
function withNull(tree: Readonly<Tree>, path: string): Readonly<Tree> {
  const [key = '', ...rest] = path.split('.');
  const below = tree[key];
  if (!(key in tree)) return { ...tree, [key]: null };
  if (rest.length === 0 || !isTree(below)) return tree;
  const changed = withNull(below, rest.join('.'));
  return changed === below ? tree : { ...tree, [key]: changed };
}
