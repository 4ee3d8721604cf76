/** What is remembered of a secret: enough to see that it changed, useless to whoever finds it. */
import { scryptSync } from 'node:crypto';
import type { Secret } from '../../base/secret.ts';

const DIGEST_BYTES = 24;

/** Slow on purpose, because passwords can be guessed; compute it once per secret and salt. */
export function secretDigest(salt: string, secret: Secret): string {
  return `scrypt:${scryptSync(secret.reveal(), salt, DIGEST_BYTES).toString('base64url')}`;
}
