/** What is remembered of a secret: enough to see that it changed, useless to whoever finds it. */
import { scryptSync } from 'node:crypto';
import { ProxwrightError } from '../../base/errors.ts';
import type { Secret } from '../../base/secret.ts';
import type { ResolvedVm } from '../stack.ts';
import { userDataProblem } from './seed/documents.ts';
import { whereOf } from './where.ts';

const DIGEST_BYTES = 24;

/** Slow on purpose, because passwords can be guessed; compute it once per secret and salt. */
export function secretDigest(salt: string, secret: Secret): string {
  return `scrypt:${scryptSync(secret.reveal(), salt, DIGEST_BYTES).toString('base64url')}`;
}

/** `path` is the field that the value was read for. */
export function refuseUnread(vm: ResolvedVm, path: string, value: Secret): void {
  const detail = path === 'cloud_init.user_data' ? userDataProblem(vm.fields.guest, value.reveal()) : undefined;
  if (detail !== undefined) throw new ProxwrightError({ code: 'BAD_VALUE', where: whereOf(vm, path), detail });
}
