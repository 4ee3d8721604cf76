/**
 * Documents of one's own: which drive they go into, and which file that will be. Of a VM that is there the file can be
 * foretold to the last digit, so a plan sees whether it is the right one; of one that is not, only that there will be one.
 */
import { createHash } from 'node:crypto';
import type { Secret } from '../../../base/secret.ts';
import { CLOUD_INIT_SLOTS, type ResolvedSecret, type SeedPlace } from '../desired-config.ts';
import { type Drive, drivesOf } from '../disks.ts';
import type { VmFields } from '../fields/index.ts';
import { macsOf } from '../parts.ts';
import { seedOf } from '../seed/documents.ts';
import { OWN_DOCUMENTS, type SeedFields, seedFieldsOf } from '../seed/fields.ts';

export interface SeedSubject {
  readonly fields: VmFields;
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  /** Values of the VM, or of what it is made from. */
  readonly base: ReadonlyMap<string, string>;
  /** Undefined while the VM is not there. */
  readonly uuid: string | undefined;
  /** The volume that was made last; it counts where nobody has read the documents. */
  readonly remembered?: string | undefined;
}

/** Undefined where Proxmox's own drive does. */
export function seedPlace(subject: SeedSubject): SeedPlace | undefined {
  const { fields, base } = subject;
  const seed = seedFieldsOf(fields);
  const storage = fields.cloud_init?.storage;
  if (!seed || storage === undefined) return undefined;
  const slot = seedSlot(fields, base);
  const displaced = drivesOf(base).find(({ kind, key }) => kind === 'cloud-init' && key !== slot)?.key;
  return {
    slot,
    file: fileOf(seed, storage, subject),
    digest: documentsDigest(subject.secrets),
    ...(displaced !== undefined && { displaced }),
  };
}

/** The volume of ours that a drive holds, if one does; that of another VM, which a clone brought along, counts as well. */
export function heldSeed(values: ReadonlyMap<string, string>): Drive | undefined {
  return drivesOf(values).find(({ kind, file }) => kind === 'cdrom' && /:iso\/proxwright-[^/]*\.iso$/.test(file));
}

/** Where one is already, ours or Proxmox's; else the first slot that nothing else wants. */
export function seedSlot({ cloud_init, disks = {} }: VmFields, base: ReadonlyMap<string, string>): string {
  const drives = drivesOf(base);
  const ours = heldSeed(base);
  const theirs = drives.find(({ kind }) => kind === 'cloud-init');
  const isEmpty = (slot: string) => drives.find(({ key }) => key === slot)?.file === 'none';
  const free = CLOUD_INIT_SLOTS.find((slot) => !(slot in disks) && (!base.has(slot) || isEmpty(slot)));
  return cloud_init?.slot ?? ours?.key ?? theirs?.key ?? free ?? 'ide2';
}

function fileOf(fields: SeedFields, storage: string, subject: SeedSubject): string {
  const { fields: vm, secrets, base, uuid, remembered } = subject;
  const given = Object.entries(vm.nics ?? {}).flatMap(([slot, { mac }]) => (mac === undefined ? [] : [[slot, mac]]));
  const macs: Record<string, string> = { ...macsOf(base), ...Object.fromEntries(given) };
  const told: Partial<Record<(typeof OWN_DOCUMENTS)[number] | 'password', Secret>> = {};
  for (const name of [...fields.own, ...(fields.hasPassword ? (['password'] as const) : [])]) {
    const value = secrets.get(`cloud_init.${name}`)?.value;
    if (value) told[name] = value;
  }
  const isTold = fields.own.every((name) => told[name]) && (!fields.hasPassword || told.password);
  const hasCards = Object.keys(fields.nics).every((slot) => macs[slot] !== undefined);
  if (!isTold && remembered !== undefined) return remembered;
  // A card without a MAC address comes into being by this very plan, and the file after it.
  if (uuid === undefined || !isTold || !hasCards) return `${storage}:iso/proxwright-${fields.name}-to-come.iso`;
  return `${storage}:iso/${seedOf({ fields, macs, uuid, secrets: told }).fileName}`;
}

/** Of the documents alone; what else is told stands beside it. */
export function documentsDigest(secrets: ReadonlyMap<string, ResolvedSecret>): string {
  const documents = OWN_DOCUMENTS.map((name) => secrets.get(`cloud_init.${name}`)?.digest ?? '');
  return createHash('sha256').update(JSON.stringify(documents)).digest('hex');
}
