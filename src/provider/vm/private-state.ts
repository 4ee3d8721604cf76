/**
 * What the host keeps for a VM without showing it: which attributes the configuration managed when it was last applied, and
 * what was applied. Secrets are in it as digests only.
 */
import { z } from 'zod';
import { appliedSchema, vmPatchSchema } from '../../kinds/vm/record.ts';
import type { PrivateState } from '../provider.ts';

const VERSION = 1;

const schema = z.object({
  version: z.literal(VERSION),
  /** Taken over, and not read yet. */
  imported: z.literal(true).optional(),
  /** Off, because we broke off between the two halves of a restart. */
  switchedOff: z.literal(true).optional(),
  /** Dotted paths of attributes. */
  managed: z.array(z.string()),
  /** Field path → value, as the engine remembers it. */
  applied: appliedSchema,
  /** The volume with documents of one's own, and others of the VM that may still be there. */
  seed: vmPatchSchema.shape.seed,
  oldSeeds: vmPatchSchema.shape.oldSeeds,
});

export type VmPrivate = Omit<z.output<typeof schema>, 'version'>;

const NOTHING: VmPrivate = { managed: [], applied: {} };

/** What an older or newer version wrote is no reason to fail: then nothing counts as managed, and nothing is lost. */
export function readPrivate(bytes: PrivateState): VmPrivate {
  if (!bytes || bytes.length === 0) return NOTHING;
  try {
    const parsed = schema.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    return parsed.success ? parsed.data : NOTHING;
  } catch {
    return NOTHING;
  }
}

export function writePrivate(content: VmPrivate): Uint8Array {
  return new TextEncoder().encode(JSON.stringify({ version: VERSION, ...content }));
}
