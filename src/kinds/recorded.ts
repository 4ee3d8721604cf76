/** What the state records about a stack between runs: its VMs, templates and files. Versioned. */
import { z } from 'zod';
import type { Address } from '../base/address.ts';
import { fileRecordSchema } from './image/record.ts';
import { type VmRecord, vmRecordSchema } from './machine-record.ts';
import { outageRecord } from './outage.ts';

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

export function vmRecordOf(state: StackState, address: Address): VmRecord | undefined {
  return state.vms[address];
}
