/**
 * What the state records of a stack between runs: of each VM and template which one it is and the values it was last given,
 * with secrets as digests; and its files. Versioned.
 */
import { z } from 'zod';
import type { Address } from '../base/address.ts';
import { fileRecordSchema } from './image/record.ts';
import { outageRecord } from './outage.ts';

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

/** What makes a VM a template: the recipe it is built from, and how far it has come. */
const template = z.strictObject({
  /** Fingerprint of everything it is made from. */
  recipe: z.string(),
  /** It was started to install itself; `done` once it has shut itself down. */
  install: z.enum(['running', 'done']).optional(),
  /** Converted, checked, and under its final name. */
  finished: z.literal(true).optional(),
});

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
  template: template.optional(),
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

/** It was never complete: its creation is to be finished. A change that did not finish leaves what was applied before it. */
export function isCreationUnfinished({ phase, lastApplied }: VmRecord): boolean {
  return phase !== 'complete' && Object.keys(lastApplied).length === 0;
}

export type TemplateRecord = z.output<typeof template>;
export type SeedFile = z.output<typeof seedFile>;

/** Version 1, of Proxwright 0.1.0, had neither a checksum nor a lineage. */
export const STATE_VERSION = 2;

export const stackStateSchema = z.strictObject({
  version: z.literal([1, STATE_VERSION]).transform(() => STATE_VERSION),
  stack: z.string(),
  /** A uuid created with the state: it distinguishes the states of two copies of one stack. */
  lineage: z.string().optional(),
  /** Grows with every write, so that a restored older state is recognised. */
  serial: z.number().int().nonnegative(),
  /** VMs and templates, by address. */
  vms: z.record(z.string(), vmRecordSchema),
  /** By node and volume: local storages of several nodes may hold files with the same name. */
  files: z.record(z.string(), fileRecordSchema).default({}),
  /** By address: what a run made unavailable and no run has made available again. */
  outages: z.record(z.string(), outageRecord).optional(),
});

export type StackState = z.output<typeof stackStateSchema>;

export function emptyState(stack: string): StackState {
  return { version: STATE_VERSION, stack, serial: 0, vms: {}, files: {} };
}

/** All of them. The keys of a state are addresses. */
export function recordedMachines({ vms }: Pick<StackState, 'vms'>): [Address, VmRecord][] {
  return Object.entries(vms) as [Address, VmRecord][];
}

export function vmRecordOf(state: StackState, address: Address): VmRecord | undefined {
  return state.vms[address];
}
