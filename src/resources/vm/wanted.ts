/**
 * From the fields of a VM to what is wanted of each configuration key. Only what somebody set appears: everything else
 * stays as the template or the server has it.
 */
import type { Secret } from '../../base/secret.ts';
import { printAllocation } from '../../pve/wire/index.ts';
import { ownDocuments } from '../seed/fields.ts';
import {
  type Binding,
  DRIVE_BINDINGS,
  EFI_BINDINGS,
  NIC_BINDINGS,
  PCI_BINDINGS,
  TPM_BINDINGS,
  USB_BINDINGS,
  VM_BINDINGS,
} from './bindings.ts';
import { Collector, rawValue } from './collector.ts';
import type { DesiredConfig, DesiredField } from './desired.ts';
import type { DiskFields } from './disk-fields.ts';
import type { VmFields } from './fields.ts';
import type { NicFields } from './nic-fields.ts';
import { wantedNic } from './nics.ts';
import type { WordKind } from './words.ts';

export interface ResolvedSecret {
  readonly value: Secret;
  /** Salted; see secret-digest.ts. */
  readonly digest: string;
}

export interface WantedContext {
  /** The line below the notes; left out where the stack says `ownership: off`. */
  readonly ownershipLine?: string | undefined;
  /** By field path: `cloud_init.password`. */
  readonly secrets?: ReadonlyMap<string, ResolvedSecret> | undefined;
  /** PCI address as the file gives it → the mapping that stands for it. */
  readonly pciMappings?: ReadonlyMap<string, string> | undefined;
  /** Where documents of one's own go; Proxmox's drive is used where this is left out. */
  readonly seed?: SeedPlace | undefined;
}

export interface SeedPlace {
  readonly slot: string;
  /** The volume, or one like it as long as the VM is not there. */
  readonly file: string;
  /** Of the documents. */
  readonly digest: string;
  /** Proxmox's own drive in another slot. */
  readonly displaced?: string | undefined;
}

export function wantedConfig(fields: VmFields, context: WantedContext): DesiredConfig {
  const wanted = new Collector();
  for (const binding of VM_BINDINGS) {
    // What stands in documents of one's own is not told a second time.
    if (context.seed && binding.path.startsWith('cloud_init.')) continue;
    wanted.bind(binding.key ?? '', fields, binding, '');
  }
  wantNotes(wanted, fields, context);
  for (const [slot, disk] of Object.entries(fields.disks ?? {})) wantDisk(wanted, slot, disk);
  for (const [slot, nic] of Object.entries(fields.nics ?? {}))
    wantedNic(wanted, slot, context.seed ? withoutAddresses(nic) : nic, NIC_BINDINGS);
  if (fields.efi) {
    // The server's own default is the legacy store, which no current firmware should get.
    const create = `${fields.efi.storage}:1,efitype=4m,pre-enrolled-keys=0`;
    wantFixed(wanted, 'efidisk0', 'efi', fields.efi, EFI_BINDINGS, create);
  }
  if (fields.tpm) {
    wantFixed(wanted, 'tpmstate0', 'tpm', fields.tpm, TPM_BINDINGS, `${fields.tpm.storage}:1,version=v2.0`);
  }
  wantDevices(wanted, fields, context);
  if (context.seed) wantSeed(wanted, fields, context.seed, context);
  else wantCloudInit(wanted, fields, context);
  for (const [key, value] of Object.entries(fields.extra ?? {})) {
    wanted.whole(key, { path: `extra.${key}`, value, words: 'raw' });
  }
  return wanted.entries;
}

function wantNotes(wanted: Collector, fields: VmFields, context: WantedContext): void {
  const line = fields.ownership === 'off' ? undefined : context.ownershipLine;
  if (fields.ownership === 'line' && line === undefined && fields.description === undefined) return;
  const described: DesiredField[] =
    fields.description === undefined
      ? []
      : [{ path: 'description', value: fields.description, words: 'notes', parts: ['text'] }];
  const owned: DesiredField = { path: 'ownership', value: line ?? null, words: 'ownership-line', parts: ['line'] };
  wanted.add('description', { kind: 'notes', text: fields.description, line }, [...described, owned]);
}

function wantDisk(wanted: Collector, slot: string, disk: DiskFields): void {
  const path = `disks.${slot}`;
  if (disk.remove) {
    wanted.remove(slot, path);
    return;
  }
  const { set, fields } = wanted.parts(slot, disk, DRIVE_BINDINGS, path);
  if (disk.iso !== undefined) {
    const medium: DesiredField = { path: `${path}.iso`, value: disk.iso, words: 'medium', parts: ['file'] };
    wanted.add(slot, { kind: 'cdrom', set, file: disk.iso === false ? 'none' : disk.iso }, [medium, ...fields]);
    return;
  }
  const volume: readonly (readonly [keyof DiskFields, string, WordKind])[] = [
    ['size', 'size', 'disk-size'],
    ['storage', 'storage', 'text'],
    ['format', 'format', 'text'],
    ['import_from', 'import-from', 'text'],
  ];
  const volumeFields = volume.flatMap(([name, part, words]): DesiredField[] => {
    const value = rawValue(disk[name], words);
    return value === undefined ? [] : [{ path: `${path}.${name}`, value, words, parts: [part] }];
  });
  const { size: sizeBytes, storage, format } = disk;
  wanted.add(slot, { kind: 'disk', set, sizeBytes, storage, format, create: creationOf(disk) }, [
    ...volumeFields,
    ...fields,
  ]);
}

/** How an empty slot is filled; undefined where the file does not say enough. */
function creationOf({ storage, size, format, import_from: source }: DiskFields): string | undefined {
  if (storage === undefined) return undefined;
  const options = format === undefined ? '' : `,format=${format}`;
  // An import takes the size of its source; growing it is a step of its own.
  if (source !== undefined) return `${storage}:0,import-from=${source}${options}`;
  return size === undefined ? undefined : `${storage}:${printAllocation(size)}${options}`;
}

/** EFI variables and TPM state: made where the VM has none, compared where it has, never changed. */
function wantFixed(
  wanted: Collector,
  key: string,
  path: string,
  owner: { readonly storage: string },
  bindings: readonly Binding[],
  create: string,
): void {
  const { set, fields } = wanted.parts(key, owner, bindings, path);
  const { storage } = owner;
  const place: DesiredField = { path: `${path}.storage`, value: storage, words: 'text', parts: ['storage'] };
  wanted.add(key, { kind: 'disk', set, sizeBytes: undefined, storage, format: undefined, create }, [place, ...fields]);
}

function wantDevices(wanted: Collector, fields: VmFields, context: WantedContext): void {
  for (const [slot, device] of Object.entries(fields.pci ?? {})) {
    const path = `pci.${slot}`;
    for (const binding of PCI_BINDINGS) wanted.bind(slot, device, binding, path);
    if (device.device === undefined) continue;
    const mapping = context.pciMappings?.get(device.device);
    // A token may use mappings only; the address itself is left to a real root login.
    const [part, excluded] = mapping === undefined ? ['host', 'mapping'] : ['mapping', 'host'];
    wanted.bind(
      slot,
      { device: mapping ?? device.device },
      { path: 'device', part, words: 'text', excludes: [excluded] },
      path,
    );
  }
  for (const [slot, device] of Object.entries(fields.usb ?? {})) {
    for (const binding of USB_BINDINGS) wanted.bind(slot, device, binding, `usb.${slot}`);
  }
  for (const [slot, value] of Object.entries(fields.serial ?? {})) {
    wanted.whole(slot, { path: `serial.${slot}`, value, words: 'text' });
  }
}

function withoutAddresses(nic: NicFields): NicFields {
  const { ipv4: _v4, ipv6: _v6, ...card } = nic;
  return card;
}

function wantSeed(wanted: Collector, fields: VmFields, seed: SeedPlace, context: WantedContext): void {
  const [document = 'user_data'] = ownDocuments(fields.cloud_init);
  const told = { parts: ['file'], told: true } as const;
  const own: DesiredField = { path: `cloud_init.${document}`, value: seed.digest, words: 'secret', ...told };
  const others = fieldsTold(fields, context).map((field): DesiredField => ({ ...field, ...told }));
  wanted.add(seed.slot, { kind: 'cdrom', set: {}, file: seed.file, seed: true }, [own, ...others]);
  if (seed.displaced !== undefined) wanted.add(seed.displaced, { kind: 'absent' }, []);
}

/** What the file says beside the documents, and what stands in them all the same. */
function fieldsTold(fields: VmFields, { secrets }: WantedContext): DesiredField[] {
  const theirs = new Collector();
  for (const binding of VM_BINDINGS) {
    if (binding.path.startsWith('cloud_init.')) theirs.bind(binding.key ?? '', fields, binding, '');
  }
  for (const [slot, { ipv4, ipv6, remove }] of Object.entries(fields.nics ?? {})) {
    if (!remove) wantedNic(theirs, slot, { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) }, []);
  }
  const password = fields.cloud_init?.password && secrets?.get('cloud_init.password');
  const hidden: DesiredField[] = password
    ? [{ path: 'cloud_init.password', value: password.digest, words: 'secret', parts: [] }]
    : [];
  return [...[...theirs.entries.values()].flatMap((entry) => entry.fields), ...hidden];
}

/** The first of these that nothing else wants. */
export const CLOUD_INIT_SLOTS = ['ide2', 'ide0', 'ide3', 'ide1', 'sata5', 'sata4', 'sata3', 'sata2', 'sata1', 'sata0'];

function wantCloudInit(wanted: Collector, { cloud_init: cloudInit }: VmFields, context: WantedContext): void {
  const password = context.secrets?.get('cloud_init.password');
  if (cloudInit?.password && password) {
    wanted.add('cipassword', { kind: 'secret', ...password }, [
      { path: 'cloud_init.password', value: password.digest, words: 'secret', parts: [] },
    ]);
  }
  if (cloudInit?.storage === undefined) return;
  const slot = cloudInit.slot ?? CLOUD_INIT_SLOTS.find((key) => !wanted.entries.has(key)) ?? 'ide2';
  const place: DesiredField = {
    path: 'cloud_init.storage',
    value: cloudInit.storage,
    words: 'text',
    parts: ['storage'],
  };
  const named: DesiredField = { path: 'cloud_init.slot', value: slot, words: 'text', parts: ['slot'] };
  const drive = { kind: 'cloud-init-drive', storage: cloudInit.storage } as const;
  wanted.add(slot, drive, cloudInit.slot === undefined ? [place] : [place, named]);
}
