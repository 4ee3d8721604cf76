/** What the host keeps for a resource without showing it: JSON with a version. Secrets are in it as digests only. */
import type { z } from 'zod';
import type { PrivateState } from '../provider.ts';

const VERSION = 1;

export interface PrivateFormat<Kept> {
  read(bytes: PrivateState): Kept;
  write(kept: Kept): Uint8Array;
}

/** Bytes of an older or newer version do not fail: they read as `nothing`. */
export function privateFormat<Kept extends object>(schema: z.ZodType<Kept>, nothing: Kept): PrivateFormat<Kept> {
  return {
    read: (bytes) => {
      if (!bytes || bytes.length === 0) return nothing;
      try {
        const written: unknown = JSON.parse(new TextDecoder().decode(bytes));
        return versionOf(written) === VERSION ? (schema.safeParse(written).data ?? nothing) : nothing;
      } catch {
        return nothing;
      }
    },
    write: (kept) => new TextEncoder().encode(JSON.stringify({ version: VERSION, ...kept })),
  };
}

function versionOf(written: unknown): unknown {
  return typeof written === 'object' && written !== null && 'version' in written ? written.version : undefined;
}
