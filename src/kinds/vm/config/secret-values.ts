/** Secret values of a VM: the digest that the state records, and the checks before anything is created. */
import { ProxwrightError } from '../../../base/errors.ts';
import type { Secret } from '../../../base/secret.ts';
import { whereOf } from '../../fields/positions.ts';
import { slowDigest } from '../../fingerprint.ts';
import { userDataProblem } from '../seed/user-data.ts';
import type { ResolvedVm } from '../stack.ts';

const DIGEST_BYTES = 24;

/** Shows that a secret changed, without revealing it. */
export function secretDigest(salt: string, secret: Secret): string {
  return `scrypt:${slowDigest(salt, secret.reveal(), DIGEST_BYTES).toString('base64url')}`;
}

/** Refuses user-data that the guest would silently ignore. `path` is the field of the value. */
export function refuseUnread(vm: ResolvedVm, path: string, value: Secret): void {
  const detail = path === 'cloud_init.user_data' ? userDataProblem(vm.fields.guest, value.reveal()) : undefined;
  if (detail !== undefined) throw new ProxwrightError({ code: 'BAD_VALUE', where: whereOf(vm, path), detail });
}
