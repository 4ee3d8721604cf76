/** /pools: groups of guests and storages, and the privileges on them. */
import { splitList } from '../../pve/wire/index.ts';
import { removeAclSubtree } from '../access/acl.ts';
import { permissionsToModify } from '../access/checks.ts';
import { changeUserConfig, poolOfVm, storedField } from '../access/user-config.ts';
import type { Call, CallTo, Routes } from '../core/call.ts';
import { vmStatistics } from '../core/statistics.ts';
import { dieFault } from '../http/response.ts';
import type { Pool, Storage, World } from '../world/world.ts';
import { type ResourceEntry, ResourceView } from './cluster/resources.ts';

export const poolRoutes: Routes = {
  'GET /pools': (call) => (call.params.poolid ? [poolView(call, call.params.poolid)] : listPools(call)),
  'POST /pools': createPool,
  'PUT /pools': updatePool,
  'DELETE /pools': deletePool,
  'GET /pools/{poolid}': (call) => poolView(call, call.params.poolid),
  'PUT /pools/{poolid}': updatePool,
  'DELETE /pools/{poolid}': deletePool,
};

function listPools(call: Call): unknown {
  return [...call.runtime.world.pools.values()]
    .filter((pool) => call.may(`/pool/${pool.poolid}`, ['Pool.Audit']))
    .map((pool) => ({ poolid: pool.poolid, ...commentOf(pool) }));
}

/** Rule [recorded perm-readonly-checks]: with `poolid=` the answer of the privilege check is ignored: every user reads it. */
function poolView({ params, runtime }: Call<{ readonly type?: string }>, poolid: string): unknown {
  const { world } = runtime;
  const pool = requirePool(world, poolid);
  const { type } = params;
  const view = new ResourceView(runtime);
  const members: ResourceEntry[] = [];
  if (type === undefined || type === 'qemu') {
    for (const vmid of pool.vms) {
      // Rule [recorded pools]: members that do not exist are skipped.
      const vm = world.vms.get(vmid);
      if (!vm) continue;
      // Rule [recorded pools]: whether a new VM is complete is random; here it always is.
      const member = view.vm(vm);
      members.push(member.status === 'unknown' ? { ...member, ...vmStatistics(runtime, vm) } : member);
    }
  }
  if (type === undefined || type === 'storage') {
    for (const id of pool.storages) {
      const storage = world.storages.get(id);
      if (storage) members.push(view.storage(storage, nodeOf(world, storage)));
    }
  }
  return { poolid: pool.poolid, ...commentOf(pool), members };
}

async function createPool({ params, runtime }: CallTo<'POST /pools'>): Promise<void> {
  const { pools } = runtime.world;
  const poolid = params.poolid;
  await changeUserConfig(runtime, 'create pool failed', () => {
    if (pools.has(poolid)) throw dieFault(`pool '${poolid}' already exists`);
    const nested = /^(.*)\/([^/]+)$/.exec(poolid);
    if (nested && !pools.has(nested[1] ?? '')) {
      throw dieFault(`parent '${nested[1]}' of pool '${poolid}' does not exist`);
    }
    if (!/^[A-Za-z]/.test(nested?.[2] ?? poolid)) throw dieFault('pool name must start with a letter');
    const comment = storedField(params.comment ?? '');
    pools.set(poolid, { poolid, comment, vms: new Set(), storages: new Set() });
  });
}

/** Everything is checked on copies first: an error leaves the pool as it was. */
async function updatePool(call: CallTo<'PUT /pools' | 'PUT /pools/{poolid}'>): Promise<void> {
  const { params, runtime } = call;
  const { world } = runtime;
  await changeUserConfig(runtime, 'update pools failed', () => {
    const pool = requirePool(world, params.poolid);
    const isRemoval = params.delete ?? false;
    const vms = new Set(pool.vms);
    const storages = new Set(pool.storages);
    const formerPools = new Map<number, Pool>();
    for (const item of splitList(params.vms ?? '')) {
      const vmid = Number(item);
      requireModify(call, `/vms/${item}`);
      changeMembership(vms, vmid, `VM ${item}`, isRemoval);
      if (!isRemoval) rememberFormerPool(call, vmid, formerPools);
    }
    for (const storage of splitList(params.storage ?? '')) {
      requireModify(call, `/storage/${storage}`);
      changeMembership(storages, storage, `Storage '${storage}'`, isRemoval);
    }
    const comment = params.comment;
    if (comment !== undefined) pool.comment = storedField(comment);
    for (const [vmid, former] of formerPools) former.vms.delete(vmid);
    replaceAll(pool.vms, vms);
    replaceAll(pool.storages, storages);
  });
}

/** Rule [source PM API2/Pool.pm delete_pool]: members that no longer exist do not count. */
async function deletePool({ params, runtime }: CallTo<'DELETE /pools' | 'DELETE /pools/{poolid}'>): Promise<void> {
  const { world } = runtime;
  await changeUserConfig(runtime, 'delete pool failed', () => {
    const pool = requirePool(world, params.poolid);
    const { poolid } = pool;
    const notEmpty = (content: string) => dieFault(`pool '${poolid}' is not empty (contains ${content})`);
    const subPool = [...world.pools.keys()]
      .filter((id) => id.replace(/\/[^/]+$/, '') === poolid && id !== poolid)
      .sort()[0];
    if (subPool !== undefined) throw notEmpty(`pool '${subPool}'`);
    const vmid = [...pool.vms]
      .map(String)
      .sort()
      .find((id) => world.vms.has(Number(id)));
    if (vmid !== undefined) throw notEmpty(`VM ${vmid}`);
    const storage = [...pool.storages].sort().find((id) => world.storages.has(id));
    if (storage !== undefined) throw notEmpty(`storage '${storage}'`);
    world.pools.delete(poolid);
    // Rule [source AC AccessControl.pm delete_pool_acl]: a nested pool's entries are searched under the wrong path.
    if (!poolid.includes('/')) removeAclSubtree(world.access, `/pool/${poolid}`);
  });
}

function requireModify(call: Call, path: string): void {
  call.require(path, permissionsToModify(path), { any: true });
}

function changeMembership<T>(members: Set<T>, member: T, label: string, isRemoval: boolean): void {
  if (isRemoval === members.has(member)) {
    if (isRemoval) members.delete(member);
    else members.add(member);
    return;
  }
  throw dieFault(`${label} is ${isRemoval ? 'not' : 'already'} a pool member`);
}

/** Rule [source PM API2/Pool.pm update_pool]: a guest changes pools only with `allow-move`, and with rights on both. */
function rememberFormerPool(call: CallTo<'PUT /pools'>, vmid: number, formerPools: Map<number, Pool>): void {
  const former = poolOfVm(call.runtime.world, vmid);
  if (!former) return;
  if (!call.params['allow-move']) {
    throw dieFault(`VM ${vmid} belongs already to pool '${former.poolid}' and 'allow-move' is not set`);
  }
  call.require(`/pool/${former.poolid}`, ['Pool.Allocate']);
  formerPools.set(vmid, former);
}

function replaceAll<T>(target: Set<T>, source: ReadonlySet<T>): void {
  target.clear();
  for (const item of source) target.add(item);
}

/** Rule [source PM API2/Pool.pm index]: the node that answers, or else the first one that has the storage. */
function nodeOf(world: World, storage: Storage): string {
  if (!storage.nodes || storage.nodes.has(world.entryNode)) return world.entryNode;
  return [...storage.nodes].sort()[0] ?? world.entryNode;
}

function commentOf(pool: Pool): { comment?: string } {
  return pool.comment === undefined ? {} : { comment: pool.comment };
}

function requirePool(world: World, poolid: string): Pool {
  const pool = world.pools.get(poolid);
  if (!pool) throw dieFault(`pool '${poolid}' does not exist`);
  return pool;
}
