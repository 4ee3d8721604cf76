/**
 * What is recorded of a VM between runs, and of a template, which is one: which VM it is, and the values it was last given,
 * with secrets as digests.
 */
import { z } from 'zod';
import { templateRecordSchema } from '../template/record.ts';

/** How far a VM has come. Only a `complete` one has been read back and compared. */
const phase = z.enum([
  /** A request to create it was recorded; it may or may not exist. */
  'creating',
  /** It exists and is ours, but some steps of the plan are not done. */
  'incomplete',
  'complete',
]);

const digest = z.strictObject({ salt: z.string(), sha256: z.string() });

const json: z.ZodType<unknown> = z.json();

/** Field path → the value of the file when it was last applied. */
export const appliedSchema = z.record(z.string(), json);

const texts: z.ZodType<readonly string[]> = z.array(z.string());

const seedPlace = {
  /** Local storages of several nodes may hold volumes with the same name. */
  node: z.string(),
  volid: z.string(),
};

/** A volume with custom cloud-init files, in a storage for ISO images. */
const seedFile = z.strictObject({
  ...seedPlace,
  /** Removing it failed, and a warning said so; the next run that has other work on the VM tries again. */
  stuck: z.literal(true).optional(),
});

const seedFiles: z.ZodType<readonly z.output<typeof seedFile>[]> = z.array(seedFile);

const volumes: z.ZodType<readonly string[]> = z.array(z.string());

const facts = {
  vmid: z.number().int(),
  /** The uuid in smbios1; with the vmid it is the VM's identity. Unknown until the VM has been read back. */
  uuid: z.string().optional(),
  node: z.string(),
  name: z.string(),
  phase,
  /** Sent in the description of a new VM, so that a request whose answer was lost can be matched to its VM. */
  nonce: z.string().optional(),
  createdAt: z.string().optional(),
  /** The template it was cloned from: the file's name or id of it, and its id. */
  source: z.strictObject({ reference: z.union([z.string(), z.number()]), vmid: z.number().int() }).optional(),
  template: templateRecordSchema.optional(),
  /** The last move that a command asked for, whatever the file says; meant if the VM is on `to`. */
  moved: z.strictObject({ from: z.string(), to: z.string(), by: z.enum(['drain', 'rebalance']) }).optional(),
  /** The one in the VM's drive, and the digest of its content. */
  seed: z.strictObject({ ...seedPlace, digest: z.string() }).optional(),
  /** Earlier ones of this VM that may still exist. */
  oldSeeds: seedFiles.optional(),
  /** Volumes that disks were moved from: whether Proxmox deleted them is not known yet. */
  movedFrom: volumes.optional(),
  /** Of a VM that holds the kept disks of another one: the name of that one, and by slot the volumes as last known. */
  holds: z.strictObject({ name: z.string(), volumes: z.record(z.string(), z.string()) }).optional(),
  /** Field path → address of the range of its group, where it is not the one that its number gives it. */
  given: z.record(z.string(), z.string()).optional(),
  /** Snapshots that were taken before a change which is not finished. */
  guardedBy: texts.optional(),
};

const maps = {
  lastApplied: appliedSchema,
  /** Field path → digest of a secret value. */
  secrets: z.record(z.string(), digest),
  /** NIC slot → MAC address. */
  macs: z.record(z.string(), z.string()),
  /** NIC slot → addresses, the preferred one first. */
  addresses: z.record(z.string(), texts),
};

export const vmRecordSchema = z.strictObject({
  ...facts,
  lastApplied: maps.lastApplied.default({}),
  secrets: maps.secrets.default({}),
  macs: maps.macs.default({}),
  addresses: maps.addresses.default({}),
});

/** Some facts of a VM. It has no defaults: they would overwrite facts that the patch does not mention. */
export const vmPatchSchema = z.strictObject({ ...facts, ...maps }).partial();

export type VmRecord = z.output<typeof vmRecordSchema>;

export type SeedFile = z.output<typeof seedFile>;
