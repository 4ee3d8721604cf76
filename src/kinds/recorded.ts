/** What we remember of a stack between runs: which VM is which, and what we last gave it. Versioned; secrets as digests. */
import { z } from 'zod';
import type { Address } from '../base/address.ts';

export const STATE_VERSION = 1;

/** How far a VM has come. Only a `complete` one has been read back and compared. */
const phase = z.enum([
  /** A request to make it was written down; it may or may not exist. */
  'creating',
  /** It exists and is ours, but not everything the plan wanted was done. */
  'incomplete',
  'complete',
]);

const digestSchema = z.strictObject({ salt: z.string(), sha256: z.string() });

/** What makes a VM a template: the recipe it is built by, and how far it has come. */
const templateFacts = z.strictObject({
  /** Fingerprint of everything it is made from. */
  recipe: z.string(),
  /** It was started to install itself; `done` once it has switched itself off. */
  install: z.enum(['running', 'done']).optional(),
  /** Converted, checked, and under its name. */
  finished: z.literal(true).optional(),
});

/** A volume with documents of one's own, in a storage for ISO images. */
const seedFile = { node: z.string(), volid: z.string() };

const facts = {
  vmid: z.number().int(),
  /** The uuid in smbios1; with the vmid it is the VM's identity. Unknown while `creating`. */
  uuid: z.string().optional(),
  node: z.string(),
  name: z.string(),
  phase,
  /** Sent as the description of a clone, so that its outcome can be found again. */
  nonce: z.string().optional(),
  createdAt: z.string().optional(),
  template: templateFacts.optional(),
  /** The one that a drive is to hold, and the digest of what is in it. */
  seed: z.strictObject({ ...seedFile, digest: z.string() }).optional(),
  /** Others of this VM that may still be there. */
  oldSeeds: z.array(z.strictObject({ ...seedFile, stuck: z.literal(true).optional() })).optional(),
};

const maps = {
  /** Field path → the value of the file when it was last applied. */
  lastApplied: z.record(z.string(), z.json()),
  /** Field path → digest of a secret value. */
  secrets: z.record(z.string(), digestSchema),
  /** NIC slot → MAC address. */
  macs: z.record(z.string(), z.string()),
  /** NIC slot → addresses, the preferred one first. */
  addresses: z.record(z.string(), z.array(z.string())),
};

export const vmStateSchema = z.strictObject({
  ...facts,
  lastApplied: maps.lastApplied.default({}),
  secrets: maps.secrets.default({}),
  macs: maps.macs.default({}),
  addresses: maps.addresses.default({}),
});

/** Some facts of a VM. Without the defaults of a whole one, which would wipe out what the patch does not mention. */
export const vmPatchSchema = z.strictObject({ ...facts, ...maps }).partial();

export type VmState = z.output<typeof vmStateSchema>;

/** A file that we brought into a storage, as it was when it was there. */
export const fileStateSchema = z.strictObject({
  /** Of the image it is. */
  address: z.string(),
  node: z.string(),
  volid: z.string(),
  /** Where it came from, and what it had to be. */
  url: z.string().optional(),
  sha256: z.string().optional(),
  sha512: z.string().optional(),
  declared: z.string().optional(),
  /** With the time it was made, what the storage tells of a file without reading it. */
  sizeBytes: z.number(),
  ctime: z.number().optional(),
  /** Whether all of it has arrived is not known. */
  incomplete: z.literal(true).optional(),
  /** It was there before, and is not ours to remove. */
  foreign: z.literal(true).optional(),
});

export type FileState = z.output<typeof fileStateSchema>;

export const stackStateSchema = z.strictObject({
  version: z.literal(STATE_VERSION),
  stack: z.string(),
  /** Grows with every write; a restored older state is recognised by it. */
  serial: z.number().int().nonnegative(),
  /** VMs and templates, by address. */
  vms: z.record(z.string(), vmStateSchema),
  /** By node and volume: one name may stand in the local storages of several nodes. */
  files: z.record(z.string(), fileStateSchema).default({}),
});

export type StackState = z.output<typeof stackStateSchema>;

export function emptyState(stack: string): StackState {
  return { version: STATE_VERSION, stack, serial: 0, vms: {}, files: {} };
}

export function vmStateOf(state: StackState, address: Address): VmState | undefined {
  return state.vms[address];
}
