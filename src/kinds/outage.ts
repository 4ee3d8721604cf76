/**
 * What the state records about a resource that a run makes unavailable, from the step that begins it until it is ready
 * again. It outlives the record of a VM, which a replacement removes, and the run that recorded it.
 */
import { z } from 'zod';

/** When a hook runs. */
export const HOOK_MOMENTS = ['before_stop', 'after_ready'] as const;
export type HookMoment = (typeof HOOK_MOMENTS)[number];

/** `started`, left by a run that died: whether the program ended is unknown. */
export const hookStatus = z.enum(['started', 'done', 'failed']);

/** What makes a VM unavailable, as its hooks are told. */
const HOOK_CHANGES = ['restart', 'replace', 'move', 'rollback', 'stop', 'start', 'destroy'] as const;
export type HookChange = (typeof HOOK_CHANGES)[number];

/** What a VM takes over from the one it replaces. */
const kept = z.strictObject({
  vmid: z.number().int(),
  /** NIC slot → MAC address. */
  macs: z.record(z.string(), z.string()),
  /** Field path → address, if it differs from the one of its number in the group. */
  given: z.record(z.string(), z.string()).optional(),
});

/** How a step announces that it makes its resource unavailable. */
export const outageStart = z.strictObject({
  group: z.string(),
  /** Missing in older journals. A later run, which may only wait for the VM, tells its hooks the same. */
  change: z.enum(HOOK_CHANGES).optional(),
  /** The VM that is replaced: as long as it is recorded, there is no new one. */
  replacedUuid: z.string().optional(),
  keeps: kept.optional(),
});

export const outageRecord = outageStart.extend({
  /** ISO 8601. */
  since: z.string(),
  hooks: z.partialRecord(z.enum(HOOK_MOMENTS), hookStatus).default({}),
});

export type OutageStart = z.output<typeof outageStart>;
export type OutageRecord = z.output<typeof outageRecord>;
export type HookStatus = z.output<typeof hookStatus>;
