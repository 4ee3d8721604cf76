/** Pools as guests and storages see them: joining one, and leaving the access control behind when they go. */
import type { Runtime } from '../core/runtime.ts';
import { permFault } from '../http/response.ts';
import type { Pool, World } from '../world/world.ts';
import { removeAclSubtree } from './acl-tree.ts';
import { changeUserConfig } from './user-config.ts';

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
