/**
 * Changes of user.cfg, which holds users, tokens, groups, roles, the access control list and the pools. All of them
 * happen under one cluster-wide lock. Pools are here, too, because guests and storages join and leave them with other
 * changes.
 */
import type { Runtime } from '../core/runtime.ts';
import { ApiFault, dieFault, permFault } from '../http/response.ts';
import { isFalse } from '../schema/perl-text.ts';
import type { Pool, World } from '../world/world.ts';
import { removeAclEntries, removeAclSubtree } from './acl.ts';

export const USER_CONFIG_LOCK = 'cfs:file-user_cfg';
const LOCK_WAIT_MS = 10_000;

/**
 * Rule [source AC AccessControl.pm lock_user_config]: every error inside, also a refusal or a wrong parameter, becomes a
 * plain 500 that begins with what was being done.
 */
export async function changeUserConfig<T>(runtime: Runtime, whatFailed: string, change: () => T): Promise<T> {
  const release = await runtime.locks.acquire(USER_CONFIG_LOCK, 'exclusive', LOCK_WAIT_MS);
  if (!release) throw dieFault(`${whatFailed}: cfs-lock 'file-user_cfg' error: got lock request timeout`);
  try {
    const result = change();
    dropDanglingEntries(runtime.world);
    return result;
  } catch (error) {
    if (error instanceof ApiFault) throw dieFault(`${whatFailed}: ${asText(error)}`);
    throw error;
  } finally {
    release();
  }
}

/** Rule [source PC Exception.pm stringify]: status and message, then one line per complaint. */
function asText(fault: ApiFault): string {
  const head = fault.status === 500 ? fault.message : `${fault.status} ${fault.message}`;
  const complaints = Object.entries(fault.errors ?? {}).map(([name, complaint]) => `${name}: ${complaint}\n`);
  return `${head}${complaints.join('')}`.replace(/\n$/, '');
}

/**
 * A field as it is read back. Rule [source AC AccessControl.pm parse_user_config]: blanks around it are part of the separator,
 * and what Perl takes for false is not there.
 */
export function storedField(text: string): string | undefined {
  const stripped = text.trim();
  return isFalse(stripped) ? undefined : stripped;
}

/**
 * Rule [source AC AccessControl.pm parse_user_config]: on reading, entries with an unknown role or token are dropped
 * (recorded perm-roles); those of unknown users and groups stay.
 */
function dropDanglingEntries({ access }: World): void {
  removeAclEntries(
    access,
    (entry) => !access.roles.has(entry.role) || (entry.kind === 'token' && !access.tokens.has(entry.ugid)),
  );
}

/** Rule [recorded pools]: naming a pool that does not exist is a 403. */
export function checkPoolExists(world: World, pool: string): void {
  if (!world.pools.has(pool)) throw permFault(`pool '${pool}' does not exist`);
}

/** Rule [source AC AccessControl.pm remove_vm_access]: destroying a guest takes its ACLs and its pool membership along. */
export async function removeVmAccess(runtime: Runtime, vmid: number): Promise<void> {
  await changeUserConfig(runtime, `access permissions cleanup for VM ${vmid} failed`, () => {
    removeAclSubtree(runtime.world.access, `/vms/${vmid}`);
    poolOfVm(runtime.world, vmid)?.vms.delete(vmid);
  });
}

export async function removeStorageAccess(runtime: Runtime, storage: string): Promise<void> {
  await changeUserConfig(runtime, `access permissions cleanup for storage ${storage} failed`, () => {
    removeAclSubtree(runtime.world.access, `/storage/${storage}`);
    for (const pool of runtime.world.pools.values()) pool.storages.delete(storage);
  });
}

/** Rule [source AC AccessControl.pm add_vm_to_pool]: a pool that is gone meanwhile is silently passed over. */
export async function addVmToPool(runtime: Runtime, vmid: number, poolid: string): Promise<void> {
  await changeUserConfig(runtime, `can't add VM ${vmid} to pool '${poolid}'`, () => {
    const pool = runtime.world.pools.get(poolid);
    if (!pool) return;
    poolOfVm(runtime.world, vmid)?.vms.delete(vmid);
    pool.vms.add(vmid);
  });
}

/** A guest is in one pool at most. */
export function poolOfVm(world: World, vmid: number): Pool | undefined {
  for (const pool of world.pools.values()) if (pool.vms.has(vmid)) return pool;
  return undefined;
}
