/** Fingerprints of a plan's inputs: equal inputs, equal digests, whatever the order of their keys. */
import { createHash } from 'node:crypto';
import type { ObservedVm } from './observed.ts';

export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** A VM's identity and configuration; its digest covers current, pending and snapshots alike. */
export function vmFingerprint(observed: ObservedVm | undefined): string {
  if (observed?.kind !== 'present') return observed?.kind ?? 'absent';
  const { vmid, uuid, digest, node } = observed.vm;
  return fingerprint({ vmid, uuid, digest, node });
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (part instanceof Map) return { map: [...part].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) };
    if (part instanceof Set) return { set: [...part].map(String).sort() };
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
