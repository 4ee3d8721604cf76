/** Digests: of a plan's inputs, equal whatever the order of their keys, and of secrets. */
import { createHash, scryptSync } from 'node:crypto';

export function fingerprint(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/**
 * A cache by a quick digest that never leaves this file: VMs often share their files, and a slow digest takes about 50
 * ms.
 */
const slowDigests = new Map<string, Buffer>();
const MAX_KEPT = 1_000;

/** The digest of a secret. Slow on purpose, so that a person who sees it can try only a few guesses. */
export function slowDigest(salt: string, text: string, bytes: number): Buffer {
  const key = fingerprint([salt, text, bytes]);
  const digest = slowDigests.get(key) ?? scryptSync(text, salt, bytes);
  if (slowDigests.size >= MAX_KEPT) slowDigests.clear();
  slowDigests.set(key, digest);
  return digest;
}

/** The same text for equal values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (part instanceof Map) return { map: [...part].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) };
    if (part instanceof Set) return { set: [...part].map(String).sort() };
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
