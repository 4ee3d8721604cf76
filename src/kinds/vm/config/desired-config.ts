/**
 * From the fields of a VM to the desired value of each configuration key. Only fields that are set appear: everything else
 * stays as the template or the server has it.
 */
import type { ResolvedSecret } from '../../../base/secret.ts';
import { printAllocation } from '../../../pve/wire/index.ts';
import type { DiskFields } from '../fields/disks.ts';
import type { VmFields } from '../fields/index.ts';
import type { NicFields } from '../fields/nics.ts';
import {
  driveRows,
  efiRows,
  nicRows,
  numaRows,
  partOf,
  pciRows,
  rowAt,
  tpmRows,
  usbRows,
  virtiofsRows,
  vmRows,
  volumeRows,
  type WireRow,
  wireRows,
} from '../fields/rows.ts';
import { secretFieldsOf } from '../fields/secrets.ts';
import { withoutLineage } from '../ownership.ts';
import { ownDocuments } from '../seed/fields.ts';
import { Collector, fileValue } from './collector.ts';
import type { DesiredConfig, DesiredField } from './desired.ts';

export interface DesiredContext {
  /** The line below the notes; absent if the stack says `ownership: off`. */
  readonly ownershipLine?: string | undefined;
  /** By field path: `cloud_init.password`. */
  readonly secrets?: ReadonlyMap<string, ResolvedSecret> | undefined;
  /** Paths of fields that nothing may show; `secrets` has their digests. */
  readonly sensitive?: readonly string[] | undefined;
  /** PCI address in the file → the mapping of that device. */
  readonly pciMappings?: ReadonlyMap<string, string> | undefined;
  /** Where custom cloud-init files go; if absent, Proxmox's drive is used. */
  readonly seed?: SeedPlace | undefined;
}

export interface SeedPlace {
  readonly slot: string;
  /** The volume, or a placeholder while the VM does not exist. */
  readonly file: string;
  /** Of the cloud-init files. */
  readonly digest: string;
  /** Proxmox's own drive in another slot. */
  readonly displaced?: string | undefined;
}

export function desiredConfig(fields: VmFields, context: DesiredContext): DesiredConfig {
  const desired = new Collector();
  for (const row of vmRows()) {
    // What custom cloud-init files contain is not configured a second time.
    if (!context.seed || !isCloudInit(row)) desired.bind(row.family, fields, row, '');
  }
  desireNotes(desired, fields, context);
  for (const [slot, disk] of Object.entries(fields.disks ?? {})) desireDisk(desired, slot, disk);
  for (const [slot, nic] of Object.entries(fields.nics ?? {})) {
    desireNic(desired, slot, nic);
    if (!context.seed) desireAddresses(desired, slot, nic);
  }
  if (fields.efi) {
    // Proxmox defaults to the legacy variable store, which does not suit current firmware.
    desireFixed(desired, 'efi', fields.efi, efiRows(), 'efitype=4m,pre-enrolled-keys=0');
  }
  if (fields.tpm) desireFixed(desired, 'tpm', fields.tpm, tpmRows(), 'version=v2.0');
  desireDevices(desired, fields, context);
  if (context.seed) desireSeed(desired, fields, context.seed, context);
  else desireCloudInit(desired, fields, context);
  for (const [key, value] of Object.entries(fields.extra ?? {})) {
    // A file sets a key in one way. A Terraform state can hold both: the raw key, and the field as an import observed it.
    desired.entries.delete(key);
    desired.whole(key, { path: `extra.${key}`, value, words: 'raw' });
  }
  return context.sensitive ? hidden(desired.entries, context.sensitive, context.secrets) : desired.entries;
}

/** The keys keep their values, which are written and compared; the fields, which are shown and recorded, have digests. */
function hidden(
  entries: DesiredConfig,
  sensitive: readonly string[],
  secrets: DesiredContext['secrets'],
): DesiredConfig {
  const hide = (field: DesiredField): DesiredField =>
    sensitive.includes(field.path)
      ? { ...field, value: secrets?.get(field.path)?.digest ?? 'unknown', hidden: true }
      : field;
  return new Map([...entries].map(([key, entry]) => [key, { ...entry, fields: entry.fields.map(hide) }]));
}

const isCloudInit = ({ path }: WireRow) => path.startsWith('cloud_init.');

function desireNotes(desired: Collector, fields: VmFields, context: DesiredContext): void {
  const line = fields.ownership === 'off' ? undefined : context.ownershipLine;
  if (fields.ownership === 'line' && line === undefined && fields.description === undefined) return;
  const [notes, ownership] = [rowAt('description'), rowAt('ownership')];
  const described: DesiredField[] =
    fields.description === undefined
      ? []
      : [{ path: notes.path, value: fields.description, words: notes.words, parts: ['text'] }];
  const value = line === undefined ? null : withoutLineage(line);
  const owned: DesiredField = { path: ownership.path, value, words: ownership.words, parts: ['line'] };
  desired.add(notes.family, { kind: 'notes', text: fields.description, line }, [...described, owned]);
}

function desireDisk(desired: Collector, slot: string, disk: DiskFields): void {
  const path = `disks.${slot}`;
  if (disk.remove) {
    desired.remove(slot, path);
    return;
  }
  const { set, fields } = desired.parts(slot, disk, driveRows(), path);
  if (disk.iso !== undefined) {
    const row = rowAt('disks.*.iso');
    const medium: DesiredField = { path: `${path}.iso`, value: disk.iso, words: row.words, parts: [partOf(row)] };
    desired.add(slot, { kind: 'cdrom', set, file: disk.iso === false ? 'none' : disk.iso }, [medium, ...fields]);
    return;
  }
  const volumeFields = volumeRows().flatMap((row) => volumeField(row, disk, path));
  const { size: sizeBytes, storage, format, keep } = disk;
  // Only recorded: the server knows no such mark.
  const kept: DesiredField[] =
    keep === undefined ? [] : [{ path: `${path}.keep`, value: keep, words: 'boolean', parts: ['keep'] }];
  desired.add(slot, { kind: 'disk', set, sizeBytes, storage, format, create: creationOf(disk) }, [
    ...volumeFields,
    ...fields,
    ...kept,
  ]);
}

/** A field about the volume of a disk. The storage is only a part of the sub-key that names the volume. */
function volumeField(row: WireRow, owner: object, path: string): DesiredField[] {
  const { name, words } = row;
  // The names of these fields are keys of their owner.
  const value = fileValue((owner as Readonly<Record<string, unknown>>)[name], words);
  const part = words === 'storage' ? 'storage' : partOf(row);
  return value === undefined ? [] : [{ path: `${path}.${name}`, value, words, parts: [part] }];
}

/** How an empty slot is filled; undefined where the file does not say enough. */
function creationOf({ storage, size, format, import_from: source }: DiskFields): string | undefined {
  if (storage === undefined) return undefined;
  const options = format === undefined ? '' : `,${partOf(rowAt('disks.*.format'))}=${format}`;
  // An import takes the size of its source; growing it is a separate step.
  if (source !== undefined) return `${storage}:0,${partOf(rowAt('disks.*.import_from'))}=${source}${options}`;
  return size === undefined ? undefined : `${storage}:${printAllocation(size)}${options}`;
}

/**
 * EFI variables and TPM state: created if the VM has none; most options of an existing one are compared and never
 * changed.
 */
function desireFixed(
  desired: Collector,
  path: 'efi' | 'tpm',
  owner: { readonly storage: string; readonly import_from?: string | undefined },
  rows: readonly WireRow[],
  options: string,
): void {
  const [place, source] = [rowAt(`${path}.storage`), rowAt(`${path}.import_from`)];
  const { family: key } = place;
  const { set, fields } = desired.parts(key, owner, rows, path);
  const { storage, import_from: from } = owner;
  const volume = from === undefined ? `${storage}:1` : `${storage}:0,${partOf(source)}=${from}`;
  desired.add(
    key,
    { kind: 'disk', set, sizeBytes: undefined, storage, format: undefined, create: `${volume},${options}` },
    [...volumeField(place, owner, path), ...volumeField(source, owner, path), ...fields],
  );
}

/** The model of a new card unless the file sets one. */
const NEW_CARD = 'virtio';

function desireNic(desired: Collector, slot: string, nic: NicFields): void {
  const path = `nics.${slot}`;
  if (nic.remove) {
    desired.remove(slot, path);
    return;
  }
  const { set, fields } = desired.parts(slot, nic, nicRows(), path);
  desired.property(slot, set, fields, NEW_CARD);
}

/** The addresses that cloud-init gives a card have a separate key, with the number of the card. */
function desireAddresses(desired: Collector, slot: string, nic: NicFields): void {
  if (nic.remove) return;
  for (const version of ['ipv4', 'ipv6'] as const) {
    const given = nic[version];
    if (given === undefined) continue;
    const [address, gateway] = [rowAt(`nics.*.${version}.address`), rowAt(`nics.*.${version}.gateway`)];
    const key = `${address.family}${slot.slice('net'.length)}`;
    const values: [WireRow, string | null | undefined][] =
      // A keyword takes the gateway from the network; one that was set before would make the value invalid.
      typeof given === 'string'
        ? [
            [address, given],
            [gateway, null],
          ]
        : [
            [address, given.address],
            [gateway, given.gateway],
          ];
    for (const [row, value] of values) {
      if (value === undefined) continue;
      const part = partOf(row);
      const path = `nics.${slot}.${row.name}`;
      desired.property(key, { [part]: value ?? undefined }, [{ path, value, words: row.words, parts: [part] }]);
    }
  }
}

function desireDevices(desired: Collector, fields: VmFields, context: DesiredContext): void {
  const [address, mapping] = [rowAt('pci.*.device'), rowAt('pci.*.mapping')];
  for (const [slot, device] of Object.entries(fields.pci ?? {})) {
    const path = `pci.${slot}`;
    for (const row of pciRows()) desired.bind(slot, device, row, path);
    if (device.device === undefined) continue;
    const mapped = context.pciMappings?.get(device.device);
    // A token may use mappings only; the address itself is left to a real root login.
    const row = mapped === undefined ? address : { ...mapping, name: address.name };
    desired.bind(slot, { device: mapped ?? device.device }, row, path);
  }
  const plainSlots = [
    ['usb', fields.usb, usbRows()],
    ['numa_nodes', fields.numa_nodes, numaRows()],
    ['virtiofs', fields.virtiofs, virtiofsRows()],
  ] as const;
  for (const [block, slots, rows] of plainSlots) {
    for (const [slot, device] of Object.entries(slots ?? {})) {
      for (const row of rows) desired.bind(slot, device, row, `${block}.${slot}`);
    }
  }
  for (const [slot, value] of Object.entries(fields.serial ?? {})) {
    desired.whole(slot, { path: `serial.${slot}`, value, words: rowAt('serial').words });
  }
}

function desireSeed(desired: Collector, fields: VmFields, seed: SeedPlace, context: DesiredContext): void {
  const [document = 'user_data'] = ownDocuments(fields.cloud_init);
  const inSeed = { parts: ['file'], inCloudInitFile: true } as const;
  const own: DesiredField = { path: `cloud_init.${document}`, value: seed.digest, words: 'secret', ...inSeed };
  const others = fieldsInSeed(fields, context).map((field): DesiredField => ({ ...field, ...inSeed }));
  desired.add(seed.slot, { kind: 'cdrom', set: {}, file: seed.file, seed: true }, [own, ...others]);
  if (seed.displaced !== undefined) desired.add(seed.displaced, { kind: 'absent' }, []);
}

/** Fields of the stack that Proxwright writes into the cloud-init files, in addition to the custom ones. */
function fieldsInSeed(fields: VmFields, context: DesiredContext): DesiredField[] {
  const written = new Collector();
  for (const row of vmRows().filter(isCloudInit)) written.bind(row.family, fields, row, '');
  for (const [slot, nic] of Object.entries(fields.nics ?? {})) desireAddresses(written, slot, nic);
  desireSecrets(written, fields, context);
  return [...written.entries.values()].flatMap((entry) => entry.fields);
}

/** Secrets that have their own key. */
function desireSecrets(desired: Collector, fields: VmFields, { secrets }: DesiredContext): void {
  const given = new Set(secretFieldsOf(fields).map(({ path }) => path));
  for (const { path, family, words } of wireRows().filter((row) => given.has(row.path))) {
    const secret = secrets?.get(path);
    if (secret) desired.add(family, { kind: 'secret', ...secret }, [{ path, value: secret.digest, words, parts: [] }]);
  }
}

/** The first slot that no other field uses. */
export const CLOUD_INIT_SLOTS = ['ide2', 'ide0', 'ide3', 'ide1', 'sata5', 'sata4', 'sata3', 'sata2', 'sata1', 'sata0'];

function desireCloudInit(desired: Collector, fields: VmFields, context: DesiredContext): void {
  desireSecrets(desired, fields, context);
  const { cloud_init: cloudInit } = fields;
  if (cloudInit?.storage === undefined) return;
  const slot = cloudInit.slot ?? CLOUD_INIT_SLOTS.find((key) => !desired.entries.has(key)) ?? 'ide2';
  const place: DesiredField = {
    path: 'cloud_init.storage',
    value: cloudInit.storage,
    words: 'text',
    parts: ['storage'],
  };
  const named: DesiredField = { path: 'cloud_init.slot', value: slot, words: 'text', parts: ['slot'] };
  const drive = { kind: 'cloud-init-drive', storage: cloudInit.storage } as const;
  desired.add(slot, drive, cloudInit.slot === undefined ? [place] : [place, named]);
}
