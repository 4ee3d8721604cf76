/**
 * What the state records of a resource that we make unavailable, from the step that begins it until it is ready again. It
 * outlives the record of a VM, which a replacement removes, and the run that recorded it.
 */
import { z } from 'zod';

/** When a hook runs. */
export const HOOK_MOMENTS = ['before_stop', 'after_ready'] as const;
export type HookMoment = (typeof HOOK_MOMENTS)[number];

/** `started` of a run that died: it is not known whether the program ended. */
export const hookStatus = z.enum(['started', 'done', 'failed']);

/** What the VM that replaces another one takes over from it. */
const kept = z.strictObject({
  vmid: z.number().int(),
  /** NIC slot → MAC address. */
  macs: z.record(z.string(), z.string()),
  /** Field path → address, where it is not the one that its number in the group gives it. */
  given: z.record(z.string(), z.string()).optional(),
});

/** How a step announces that it makes its resource unavailable. */
export const outageStart = z.strictObject({ group: z.string(), keeps: kept.optional() });

export const outageRecord = outageStart.extend({
  /** ISO 8601. */
  since: z.string(),
  hooks: z.partialRecord(z.enum(HOOK_MOMENTS), hookStatus).default({}),
});

export type OutageStart = z.output<typeof outageStart>;
export type OutageRecord = z.output<typeof outageRecord>;
export type HookStatus = z.output<typeof hookStatus>;
