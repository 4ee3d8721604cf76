/** The secrets of a stack: each is read once, and recorded only as a digest. */
import type { Address } from '../../base/address.ts';
import { isFamily } from '../../base/errors.ts';
import { randomHex } from '../../base/random.ts';
import { type ResolvedSecret, Secret } from '../../base/secret.ts';
import { valueAt } from '../../kinds/fields/field-table.ts';
import { whereOf } from '../../kinds/fields/positions.ts';
import { machinesOf } from '../../kinds/stack.ts';
import { refuseUnread, secretDigest } from '../../kinds/vm/config/secret-values.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import { readDocument, readSecret } from '../../local/secret.ts';
import { SALT_FILE } from '../../state/state-file.ts';
import type { StateStore } from '../../state/store.ts';
import type { CommandDeps } from '../command.ts';
import type { OpenedStack } from './open.ts';

export type SecretsByVm = ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;

/** Every secret of the stack's VMs, by VM and field path, each source read once. */
export async function resolveSecrets(opened: OpenedStack, deps: CommandDeps): Promise<SecretsByVm> {
  const fields = machinesOf(opened.stack).flatMap((vm) => secretFieldsOf(vm.fields).map((field) => ({ ...field, vm })));
  const hidden = machinesOf(opened.stack).filter(({ sensitive }) => sensitive);
  if (fields.length === 0 && hidden.length === 0) return new Map();
  const salt = await saltOf(opened.store, deps);
  const sources = { environment: deps.environment, directory: opened.directory };
  const known = new Map<string, ResolvedSecret>();
  const result = new Map<Address, Map<string, ResolvedSecret>>();
  for (const { vm, path, reference, isDocument } of fields) {
    const source = JSON.stringify([reference, isDocument]);
    const where = whereOf(vm, path);
    let resolved = known.get(source);
    if (!resolved) {
      const value =
        isDocument || 'text' in reference
          ? await readDocument(reference, sources, where)
          : await readSecret(reference, sources, where);
      resolved = { value, digest: secretDigest(salt, value) };
      known.set(source, resolved);
    }
    deps.secrets.add(resolved.value);
    refuseUnread(vm, path, resolved.value);
    const ofVm = result.get(vm.address) ?? new Map<string, ResolvedSecret>();
    result.set(vm.address, ofVm.set(path, resolved));
  }
  for (const vm of hidden) {
    const ofVm = result.get(vm.address) ?? new Map<string, ResolvedSecret>();
    for (const path of vm.sensitive ?? []) {
      const value = new Secret(JSON.stringify(valueAt(vm.fields, path)));
      const source = JSON.stringify([path, value.reveal()]);
      const resolved = known.get(source) ?? { value, digest: secretDigest(salt, value) };
      known.set(source, resolved);
      ofVm.set(path, resolved);
    }
    result.set(vm.address, ofVm);
  }
  return result;
}

/** Stored with the state, because only digests with the same salt can be compared. */
async function saltOf(store: StateStore, deps: CommandDeps): Promise<string> {
  const kept = (await store.read(SALT_FILE))?.trim();
  if (kept) return kept;
  const salt = randomHex(deps.random.fork('salt'), 32);
  await store.write(SALT_FILE, `${salt}\n`).catch((error: unknown) => {
    // Commands that only read work in a read-only directory; those that write fail there anyway.
    if (!isFamily(error, 'state')) throw error;
    deps.terminal.log('debug', 'The salt for digests of secrets could not be stored.', {
      reason: error.diagnostic.detail,
    });
  });
  return salt;
}
