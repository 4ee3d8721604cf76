/** The secrets of a VM: read where the configuration says, known to the host only by a digest. */
import { createHash } from 'node:crypto';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import type { ResolvedVm } from '../../kinds/stack.ts';
import type { ResolvedSecret } from '../../kinds/vm/desired-config.ts';
import { type SecretField, secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import { documentsDigest } from '../../kinds/vm/plan/seed-place.ts';
import { refuseUnread, secretDigest } from '../../kinds/vm/secret-values.ts';
import { ownDocuments } from '../../kinds/vm/seed/fields.ts';
import { whereOf } from '../../kinds/vm/where.ts';
import type { Pve } from '../../pve/index.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings } from '../surroundings.ts';
import { writeOnlyPassword } from './wanted-vm.ts';

export type VmSecrets = ReadonlyMap<string, ResolvedSecret>;

/** Slow on purpose, so each value is digested once in a process, for each client. */
const digests = new WeakMap<Pve, Map<string, string>>();

/**
 * The salt has to be the same in every process and for a VM that is not made yet; it tells deployments apart, so that equal
 * passwords in two of them show no equal digests.
 */
function digested({ work }: Surroundings, value: Secret): string {
  const { endpoint, principal } = work;
  const known = digests.get(work) ?? new Map<string, string>();
  digests.set(work, known);
  const digest = known.get(value.reveal()) ?? secretDigest(`${endpoint} ${principal}`, value);
  known.set(value.reveal(), digest);
  return digest;
}

/** The password, and documents of one's own that a guest is told by a drive of ours. */
export async function secretsOf(surroundings: Surroundings, config: CtyObject, vm: ResolvedVm): Promise<VmSecrets> {
  const read = secretFieldsOf(vm.fields).map(async (field): Promise<[string, ResolvedSecret]> => {
    const value = await usableValue(surroundings, config, vm, field);
    return [field.path, { value, digest: digested(surroundings, value) }];
  });
  return new Map(await Promise.all(read));
}

/** What is wrong with documents that a VM which is not made yet is to be told by. */
export async function documentProblems(
  surroundings: Surroundings,
  config: CtyObject,
  vm: ResolvedVm,
): Promise<Diagnostic[]> {
  const documents = secretFieldsOf(vm.fields).filter(({ isDocument }) => isDocument);
  const found = documents.map((field) =>
    usableValue(surroundings, config, vm, field).then(
      () => [],
      (error: unknown) => [toDiagnostic(error)],
    ),
  );
  return (await Promise.all(found)).flat();
}

async function usableValue(
  surroundings: Surroundings,
  config: CtyObject,
  vm: ResolvedVm,
  field: SecretField,
): Promise<Secret> {
  const value = await valueGiven(surroundings, config, vm, field);
  refuseUnread(vm, field.path, value);
  return value;
}

async function valueGiven(
  surroundings: Surroundings,
  config: CtyObject,
  vm: ResolvedVm,
  { path, reference, isDocument }: SecretField,
): Promise<Secret> {
  const where = whereOf(vm, path);
  if (isDocument || 'text' in reference) return surroundings.readDocument(reference, where);
  const given = writeOnlyPassword(config);
  return given === undefined ? surroundings.readSecret(reference, where) : new Secret(given);
}

/** What the state shows of them; of several one digest for all. */
export function digestOf(secrets: VmSecrets): string | null {
  const [first, ...others] = [...secrets.values()].map(({ digest }) => digest);
  if (first === undefined) return null;
  return others.length === 0
    ? first
    : createHash('sha256')
        .update([first, ...others].join(' '))
        .digest('hex');
}

/** What is remembered of them once they were applied, by field path: documents have one digest between them. */
export function appliedDigests({ fields }: ResolvedVm, secrets: VmSecrets): Readonly<Record<string, string>> {
  const [document] = ownDocuments(fields.cloud_init);
  const password = secrets.get('cloud_init.password')?.digest;
  return {
    ...(password !== undefined && { 'cloud_init.password': password }),
    ...(document !== undefined && { [`cloud_init.${document}`]: documentsDigest(secrets) }),
  };
}
