/** The secrets that the configuration of a VM refers to: their values, and the digests by which a change is noticed. */

import { createHash } from 'node:crypto';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { toDiagnostic } from '../../../base/errors.ts';
import { type ResolvedSecret, Secret } from '../../../base/secret.ts';
import { whereOf } from '../../../kinds/fields/positions.ts';
import { refuseUnread, secretDigest } from '../../../kinds/vm/config/secret-values.ts';
import { type SecretField, secretFieldsOf } from '../../../kinds/vm/fields/secrets.ts';
import { ownDocuments } from '../../../kinds/vm/seed/fields.ts';
import { documentsDigest } from '../../../kinds/vm/seed/seed-place.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import type { Deps } from '../../adapter/deps.ts';
import type { CtyObject } from '../../cty/value.ts';
import { writeOnlyPassword } from './desired.ts';

/** By field path. */
export type VmSecrets = ReadonlyMap<string, ResolvedSecret>;

export const NO_SECRETS: VmSecrets = new Map();

/** The password and the cloud-init files of the user. */
export async function secretsOf(deps: Deps, config: CtyObject, vm: ResolvedVm): Promise<VmSecrets> {
  const read = secretFieldsOf(vm.fields).map(async (field): Promise<[string, ResolvedSecret]> => {
    const value = await usableValue(deps, config, vm, field);
    return [field.path, { value, digest: digested(deps, value) }];
  });
  return new Map(await Promise.all(read));
}

/** What is wrong with the cloud-init files of a VM that does not exist yet. */
export async function documentProblems(deps: Deps, config: CtyObject, vm: ResolvedVm): Promise<Diagnostic[]> {
  const documents = secretFieldsOf(vm.fields).filter(({ isDocument }) => isDocument);
  const found = documents.map((field) =>
    usableValue(deps, config, vm, field).then(
      () => [],
      (error: unknown) => [toDiagnostic(error)],
    ),
  );
  return (await Promise.all(found)).flat();
}

async function usableValue(deps: Deps, config: CtyObject, vm: ResolvedVm, field: SecretField): Promise<Secret> {
  const value = await configuredValue(deps, config, vm, field);
  refuseUnread(vm, field.path, value);
  return value;
}

async function configuredValue(
  deps: Deps,
  config: CtyObject,
  vm: ResolvedVm,
  { path, reference, isDocument }: SecretField,
): Promise<Secret> {
  const where = whereOf(vm, path);
  if (isDocument || 'text' in reference) return deps.readDocument(reference, where);
  const password = writeOnlyPassword(config);
  return password === undefined ? deps.readSecret(reference, where) : new Secret(password);
}

/**
 * The salt must be the same in every process and for a VM that does not exist yet. It differs between deployments, so that
 * equal passwords in two of them do not have equal digests.
 */
function digested({ work: { endpoint, principal } }: Deps, value: Secret): string {
  return secretDigest(`${endpoint} ${principal}`, value);
}

/** Of the password of a VM that comes from another provider. It is made before the server is known. */
export function formerDigest(password: Secret): string {
  return secretDigest('former provider', password);
}

/** The former provider has set a password and does not say which. The first one that is configured counts as that one. */
export const ANY_PASSWORD = 'any';

/** The password that the former provider has set counts as applied. */
export function withFormerPassword<
  Kept extends { readonly formerPassword?: string | undefined; readonly applied: object },
>(kept: Kept, secrets: VmSecrets): Kept {
  const password = secrets.get('cloud_init.password');
  const { formerPassword } = kept;
  if (!password || formerPassword === undefined) return kept;
  if (formerPassword !== ANY_PASSWORD && formerPassword !== formerDigest(password.value)) return kept;
  return { ...kept, applied: { ...kept.applied, 'cloud_init.password': password.digest } };
}

/** What the state shows of the secrets: one digest, however many there are. */
export function digestOf(secrets: VmSecrets): string | null {
  const [first, ...others] = [...secrets.values()].map(({ digest }) => digest);
  if (first === undefined) return null;
  return others.length === 0
    ? first
    : createHash('sha256')
        .update([first, ...others].join(' '))
        .digest('hex');
}

/** What is recorded of the secrets once they were applied, by field path. Documents share one digest. */
export function appliedDigests({ fields }: ResolvedVm, secrets: VmSecrets): Readonly<Record<string, string>> {
  const [document] = ownDocuments(fields.cloud_init);
  const password = secrets.get('cloud_init.password')?.digest;
  return {
    ...(password !== undefined && { 'cloud_init.password': password }),
    ...(document !== undefined && { [`cloud_init.${document}`]: documentsDigest(secrets) }),
  };
}
