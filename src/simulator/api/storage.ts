/** /storage: the definitions of storages. [source ST API2/Storage/Config.pm] */
import { removeStorageAccess } from '../access/user-config.ts';
import type { CallTo, Routes } from '../core/call.ts';
import { ApiFault, dieFault } from '../http/response.ts';
import { type ParamTexts, sentTexts } from '../schema/validate.ts';
import { leaveData } from '../storage/places.ts';
import { activationFailure, storageSpace } from '../storage/space.ts';
import {
  changedStorage,
  isStorageType,
  newStorage,
  splitList,
  storageConfigDigest,
  storageEntry,
} from '../storage/storage-config.ts';
import { isOnNode, storageConfig } from '../storage/volumes.ts';

const SEEN_WITH = ['Datastore.Audit', 'Datastore.AllocateSpace'];

export const storageRoutes: Routes = {
  'GET /storage': list,
  'POST /storage': create,
  'GET /storage/{storage}': (call) =>
    storageEntry(call.runtime.world, storageConfig(call.runtime.world, call.params.storage)),
  'PUT /storage/{storage}': update,
  'DELETE /storage/{storage}': remove,
};

/** Rule [recorded perm-token-sees-nothing]: storages that the caller may not see are silently left out. */
function list(call: CallTo<'GET /storage'>): unknown {
  const { world } = call.runtime;
  const type = call.params.type;
  return [...world.storages.values()]
    .filter((storage) => type === undefined || storage.type === type)
    .filter((storage) => call.may(`/storage/${storage.id}`, SEEN_WITH, { any: true }))
    .map((storage) => storageEntry(world, storage));
}

function create(call: CallTo<'POST /storage'>): unknown {
  const { world } = call.runtime;
  const id = call.params.storage;
  const type = call.params.type;
  if (!isStorageType(type)) {
    throw new ApiFault(501, `Storages of type '${type}' are not simulated`);
  }
  const storage = newStorage(world, id, type, settingsOf(call.texts));
  return locked('create', () => {
    if (world.storages.has(id)) throw dieFault(`storage ID '${id}' already defined`);
    // Rule [source ST API2/Storage/Config.pm create]: activated on this node immediately, if it is available there.
    const isTried = !storage.disabled && isOnNode(storage, call.node);
    if (isTried && !storageSpace(world, storage, call.node)) throw dieFault(activationFailure(storage));
    world.storages.set(id, storage);
    world.storageConfigWrites++;
    return { storage: id, type };
  });
}

function update(call: CallTo<'PUT /storage/{storage}'>): unknown {
  const { world } = call.runtime;
  const id = call.params.storage;
  return locked('update', () => {
    const digest = call.params.digest;
    if (digest !== undefined && digest !== storageConfigDigest(world)) {
      throw dieFault('detected modified configuration - file changed by other user? Try again.');
    }
    const storage = storageConfig(world, id);
    const deletions = splitList(call.params.delete ?? '');
    world.storages.set(id, changedStorage(world, storage, settingsOf(call.texts), deletions));
    world.storageConfigWrites++;
    return { storage: id, type: storage.type };
  });
}

/** Rule [source AC AccessControl.pm remove_storage_access]: its ACLs and pool memberships go with it; the data stays. */
async function remove(call: CallTo<'DELETE /storage/{storage}'>): Promise<null> {
  const { world } = call.runtime;
  const id = call.params.storage;
  locked('delete', () => {
    const storage = storageConfig(world, id);
    const isUsed = [...world.storages.values()].some((other) => other.options.get('base')?.startsWith(`${id}:`));
    if (isUsed) throw dieFault("can't remove storage - storage is used as base of another storage");
    world.storages.delete(id);
    world.storageConfigWrites++;
    leaveData(world, storage);
  });
  await removeStorageAccess(call.runtime, id);
  return null;
}

/** Rule [source ST Storage.pm lock_storage_config]: every failure under the lock names the operation. */
function locked<T>(operation: 'create' | 'update' | 'delete', work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ApiFault) || error.status !== 500) throw error;
    throw dieFault(`${operation} storage failed: ${error.message.trimEnd()}`);
  }
}

/**
 * Rule [source ST Storage/Plugin.pm sensitive_properties]: passwords and keys go to separate files, never into
 * storage.cfg.
 */
const NOT_STORED = new Set([
  'storage',
  'type',
  'digest',
  'delete',
  'keyring',
  'password',
  'encryption-key',
  'master-pubkey',
]);

function settingsOf(texts: ParamTexts): Map<string, string> {
  const stored = sentTexts(texts).filter(([key]) => !NOT_STORED.has(key));
  return new Map(stored.sort(([a], [b]) => (a < b ? -1 : 1)));
}
