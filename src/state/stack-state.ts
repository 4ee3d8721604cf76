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

export const stackStateSchema = z.strictObject({
  version: z.literal(STATE_VERSION),
  stack: z.string(),
  /** Grows with every write; a restored older state is recognised by it. */
  serial: z.number().int().nonnegative(),
  vms: z.record(z.string(), vmStateSchema),
});

export type StackState = z.output<typeof stackStateSchema>;

export function emptyState(stack: string): StackState {
  return { version: STATE_VERSION, stack, serial: 0, vms: {} };
}

export function vmStateOf(state: StackState, address: Address): VmState | undefined {
  return state.vms[address];
}
