/** The secrets of a VM: read where the configuration says, known to the host only by a digest. */
import { Secret } from '../../base/secret.ts';
import { whereOf } from '../../engine/where.ts';
import { secretDigest } from '../../resources/vm/secret-digest.ts';
import { secretFieldsOf } from '../../resources/vm/secret-fields.ts';
import type { ResolvedSecret } from '../../resources/vm/wanted.ts';
import type { ResolvedVm } from '../../spec/types.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings } from '../surroundings.ts';
import { writeOnlyPassword } from './wanted-vm.ts';

export const PASSWORD_FIELD = 'cloud_init.password';

export type VmSecrets = ReadonlyMap<string, ResolvedSecret>;

/** Slow on purpose, so each value is digested once in a process. */
const digests = new WeakMap<Surroundings, Map<string, string>>();

/**
 * The salt has to be the same in every process and for a VM that is not made yet; it tells deployments apart, so that equal
 * passwords in two of them show no equal digests.
 */
function digested(surroundings: Surroundings, value: Secret): string {
  const { endpoint, principal } = surroundings.work;
  const known = digests.get(surroundings) ?? new Map<string, string>();
  digests.set(surroundings, known);
  const digest = known.get(value.reveal()) ?? secretDigest(`${endpoint} ${principal}`, value);
  known.set(value.reveal(), digest);
  return digest;
}

export async function secretsOf(surroundings: Surroundings, config: CtyObject, vm: ResolvedVm): Promise<VmSecrets> {
  const reference = vm.fields.cloud_init?.password;
  if (!reference) return new Map();
  const given = writeOnlyPassword(config);
  const value =
    given === undefined ? await surroundings.readSecret(reference, whereOf(vm, PASSWORD_FIELD)) : new Secret(given);
  return new Map([[PASSWORD_FIELD, { value, digest: digested(surroundings, value) }]]);
}

/** What the state shows of them. */
export function digestOf(secrets: VmSecrets): string | null {
  return secrets.get(PASSWORD_FIELD)?.digest ?? null;
}

/** Documents of one's own, which a guest is told by a drive of ours. */
export async function documentsOf(surroundings: Surroundings, vm: ResolvedVm): Promise<VmSecrets> {
  const documents = secretFieldsOf(vm.fields).filter(({ isDocument }) => isDocument);
  const read = documents.map(async ({ path, reference }): Promise<[string, ResolvedSecret]> => {
    const value = await surroundings.readDocument(reference, whereOf(vm, path));
    return [path, { value, digest: digested(surroundings, value) }];
  });
  return new Map(await Promise.all(read));
}
