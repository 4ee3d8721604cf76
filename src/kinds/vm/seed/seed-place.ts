/**
 * Custom cloud-init files: the drive they go into, and the volume that holds them. For an existing VM the name of that
 * volume can be computed, so a plan sees whether the right one is attached; for a new VM it is not known yet.
 */
import { createHash } from 'node:crypto';
import type { ResolvedSecret, Secret } from '../../../base/secret.ts';
import { CLOUD_INIT_SLOTS, type SeedPlace } from '../config/desired-config.ts';
import { type Drive, drivesOf } from '../config/disks.ts';
import { macsOf } from '../config/parts.ts';
import type { VmFields } from '../fields/index.ts';
import { seedOf } from './documents.ts';
import { OWN_DOCUMENTS, type SeedFields, seedFieldsOf } from './fields.ts';

export interface SeedSubject {
  readonly fields: VmFields;
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  /** Values of the VM, or of the template it is cloned from. */
  readonly base: ReadonlyMap<string, string>;
  /** Undefined while the VM does not exist. */
  readonly uuid: string | undefined;
  /** The volume that the last apply created; it counts when the files could not be read. */
  readonly recordedVolume?: string | undefined;
}

/** Undefined when Proxmox's own cloud-init drive is enough. */
export function seedPlace(subject: SeedSubject): SeedPlace | undefined {
  const { fields, base } = subject;
  const seed = seedFieldsOf(fields);
  const storage = fields.cloud_init?.storage;
  if (!seed || storage === undefined) return undefined;
  const slot = seedSlot(fields, base);
  const displaced = drivesOf(base).find(
    ({ kind, key }) => kind === 'cloud-init' && key !== slot && !(key in (fields.disks ?? {})),
  )?.key;
  return {
    slot,
    file: fileOf(seed, storage, subject),
    digest: documentsDigest(subject.secrets),
    ...(displaced !== undefined && { displaced }),
  };
}

/** The drive with a volume that Proxwright created, also one that a clone inherited from another VM. */
export function heldSeed(values: ReadonlyMap<string, string>): Drive | undefined {
  return drivesOf(values).find(({ kind, file }) => kind === 'cdrom' && /:iso\/proxwright-[^/]*\.iso$/.test(file));
}

/** The slot of the present drive, ours or Proxmox's; else the first free slot. */
export function seedSlot({ cloud_init, disks = {} }: VmFields, base: ReadonlyMap<string, string>): string {
  const drives = drivesOf(base);
  const ours = heldSeed(base);
  const theirs = drives.find(({ kind }) => kind === 'cloud-init');
  // A slot that the file gives to another medium is no longer available.
  const taken = [ours, theirs].find((drive) => drive && !(drive.key in disks));
  const isEmpty = (slot: string) => drives.find(({ key }) => key === slot)?.file === 'none';
  const free = CLOUD_INIT_SLOTS.find((slot) => !(slot in disks) && (!base.has(slot) || isEmpty(slot)));
  return cloud_init?.slot ?? taken?.key ?? free ?? 'ide2';
}

function fileOf(fields: SeedFields, storage: string, subject: SeedSubject): string {
  const { fields: vm, secrets, base, uuid, recordedVolume } = subject;
  const given = Object.entries(vm.nics ?? {}).flatMap(([slot, { mac }]) => (mac === undefined ? [] : [[slot, mac]]));
  const macs: Record<string, string> = { ...macsOf(base), ...Object.fromEntries(given) };
  const contents: Partial<Record<(typeof OWN_DOCUMENTS)[number] | 'password', Secret>> = {};
  for (const name of [...fields.own, ...(fields.hasPassword ? (['password'] as const) : [])]) {
    const value = secrets.get(`cloud_init.${name}`)?.value;
    if (value) contents[name] = value;
  }
  const isComplete = fields.own.every((name) => contents[name]) && (!fields.hasPassword || contents.password);
  const hasCards = Object.keys(fields.nics).every((slot) => macs[slot] !== undefined);
  if (!isComplete && recordedVolume !== undefined) return recordedVolume;
  // A NIC without a MAC address is created by this plan, and the volume after it.
  if (uuid === undefined || !isComplete || !hasCards) return `${storage}:iso/proxwright-${fields.name}-to-come.iso`;
  const volumes = [recordedVolume, ...drivesOf(base).map(({ file }) => file)];
  return `${storage}:iso/${seedOf({ fields, macs, uuid, secrets: contents }, volumes).fileName}`;
}

/** Of the custom files alone; other cloud-init fields are compared one by one. */
export function documentsDigest(secrets: ReadonlyMap<string, ResolvedSecret>): string {
  const documents = OWN_DOCUMENTS.map((name) => secrets.get(`cloud_init.${name}`)?.digest ?? '');
  return createHash('sha256').update(JSON.stringify(documents)).digest('hex');
}
