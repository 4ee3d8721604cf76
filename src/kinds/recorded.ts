/**
 * What the state records of a stack between runs. Versioned. Each kind declares its record in its own folder; here they are
 * put together.
 */
import { z } from 'zod';
import type { Address } from '../base/address.ts';
import { fileRecordSchema } from './image/record.ts';
import { outageRecord } from './outage.ts';
import { type VmRecord, vmPatchSchema, vmRecordSchema } from './vm/record.ts';

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

/** What is recorded under the address of a resource. */
export type AddressRecord = StackState['vms'][string];

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

/** What an event changes in the state of one VM; null removes it. */
export const vmPatch = z.strictObject({
  address: z.string(),
  vm: vmPatchSchema.nullable(),
});

/** What an event changes in the state of one file, by its key; null removes it. */
export const filePatch = z.strictObject({ key: z.string(), file: fileRecordSchema.nullable() });

export type VmPatch = z.output<typeof vmPatch>;

/** Of which nothing is known yet. */
export const NEW_RECORD: AddressRecord = {
  vmid: 0,
  node: '',
  name: '',
  phase: 'creating',
  lastApplied: {},
  secrets: {},
  macs: {},
  addresses: {},
};

/** It was never complete: its creation is to be finished. A change that did not finish leaves what was applied before it. */
export function isCreationUnfinished({ phase, lastApplied }: AddressRecord): boolean {
  return phase !== 'complete' && Object.keys(lastApplied).length === 0;
}
