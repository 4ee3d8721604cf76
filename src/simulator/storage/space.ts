/**
 * The space of a storage: the file system or pool below it, and whether the node can reach it; and the lock that
 * Proxmox takes on a storage while it allocates.
 */
import type { Release } from '../core/locks.ts';
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { FileSystem, Storage, World } from '../world/world.ts';
import { usedBytesOf } from './catalogue.ts';
import { volumeGroup, zfsPool } from './paths.ts';
import { expectedMountPoint, isMountPoint } from './places.ts';
import { checkStorageEnabled, isOnNode } from './volumes.ts';

export interface StorageSpace {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly availableBytes: number;
}

/** Undefined when the storage is not active on the node. */
export function storageSpace(world: World, storage: Storage, node: string): StorageSpace | undefined {
  if (storage.disabled || !isOnNode(storage, node) || !isMounted(world, storage)) return undefined;
  const holder = storage.shared ? world.entryNode : node;
  const filesystem = world.nodes.get(holder)?.filesystems.get(storage.filesystem);
  if (!filesystem) return undefined;
  const usedBytes = filesystemUsage(world, filesystem, holder);
  const availableBytes = Math.max(0, filesystem.totalBytes - filesystem.reservedBytes - usedBytes);
  // Rule [source ST Storage/ZFSPoolPlugin.pm, Storage/RBDPlugin.pm status]: pools report used plus available as total.
  const isPool = storage.type === 'zfspool' || storage.type === 'rbd';
  return { totalBytes: isPool ? usedBytes + availableBytes : filesystem.totalBytes, usedBytes, availableBytes };
}

/** Rule [recorded storage-define]: a storage whose required mount point is missing is not active. */
function isMounted(world: World, storage: Storage): boolean {
  const mountPoint = expectedMountPoint(storage);
  return mountPoint === undefined || isMountPoint(world, mountPoint);
}

export function availableBytes(world: World, storage: Storage, node: string): number {
  return storageSpace(world, storage, node)?.availableBytes ?? 0;
}

/** Everything on one file system counts, whichever storage created it. */
function filesystemUsage(world: World, filesystem: FileSystem, node: string): number {
  let usedBytes = filesystem.foreignBytes;
  for (const storage of world.storages.values()) {
    if (storage.filesystem !== filesystem.name) continue;
    if (storage.shared && node !== world.entryNode) continue;
    usedBytes += usedBytesOf(storage, node);
  }
  for (const left of world.leftBehind.values()) {
    if (left.filesystem !== filesystem.name) continue;
    const volumes = [left.volumes.get(node), node === world.entryNode ? left.volumes.get('*') : undefined];
    for (const each of volumes) for (const volume of each?.values() ?? []) usedBytes += volume.usedBytes;
  }
  return usedBytes;
}

/** Rule [source ST Storage.pm activate_storage]: every access activates the storage first, which may fail. */
export function activateStorage(world: World, id: string, node: string): Storage {
  const storage = checkStorageEnabled(world, id, node);
  if (!storageSpace(world, storage, node)) throw dieFault(activationFailure(storage));
  return storage;
}

/** Rule [source ST Storage/DirPlugin.pm, LvmThinPlugin.pm, ZFSPoolPlugin.pm activate_storage]. */
export function activationFailure(storage: Storage): string {
  switch (storage.type) {
    case 'dir': {
      const mountPoint = expectedMountPoint(storage);
      if (mountPoint !== undefined) {
        return `unable to activate storage '${storage.id}' - directory is expected to be a mount point but is not mounted: '${mountPoint}'`;
      }
      return `unable to activate storage '${storage.id}' - directory '${storage.path}' does not exist or is unreachable`;
    }
    case 'nfs':
    case 'rbd':
      return `storage '${storage.id}' is not online`;
    case 'lvm':
      return `no such volume group '${volumeGroup(storage)}'`;
    case 'lvmthin':
      return `no such logical volume ${volumeGroup(storage)}/${storage.options.get('thinpool') ?? storage.filesystem}`;
    case 'zfspool': {
      const pool = zfsPool(storage).replace(/\/.*$/, '');
      return `could not activate storage '${storage.id}', zfs error: cannot import '${pool}': no such pool available\n`;
    }
  }
}

export type LogLine = (line: string) => void;

/** Rule [source ST Storage/Plugin.pm cluster_lock_storage]: the wait for both kinds of lock is 10 s. */
const WAIT_MS = 10_000;
const CFS_RETRY_MS = 1000;

export async function withStorageLock<T>(
  runtime: Runtime,
  target: { readonly storage: Storage; readonly node: string; readonly log: LogLine },
  work: () => Promise<T>,
): Promise<T> {
  const release = await (target.storage.shared ? clusterLock(runtime, target) : fileLock(runtime, target));
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Rule [recorded clone-parallel-different-ids]: a worker that waits for the file lock logs that, and ` OK` once it has
 * it.
 */
async function fileLock(
  runtime: Runtime,
  { storage, node, log }: { readonly storage: Storage; readonly node: string; readonly log: LogLine },
): Promise<Release> {
  const file = `/var/lock/pve-manager/pve-storage-${storage.id}`;
  const name = `${node}:${file}`;
  const mustWait = !runtime.locks.isFree(name, 'exclusive');
  if (mustWait) log('trying to acquire lock...');
  const release = await runtime.locks.acquire(name, 'exclusive', WAIT_MS);
  if (!release) throw dieFault(`can't lock file '${file}' - got timeout`);
  if (mustWait) log(' OK');
  return release;
}

/** Rule [source CL PVE/Cluster.pm $cfs_lock]: tried once a second, each failure with a line in the log. */
async function clusterLock(
  runtime: Runtime,
  { storage, log }: { readonly storage: Storage; readonly log: LogLine },
): Promise<Release> {
  const name = `storage-${storage.id}`;
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += CFS_RETRY_MS) {
    const release = runtime.locks.isFree(`cfs:${name}`, 'exclusive')
      ? await runtime.locks.acquire(`cfs:${name}`, 'exclusive', 0)
      : undefined;
    if (release) return release;
    log(`trying to acquire cfs lock '${name}' ...`);
    await runtime.clock.sleep(CFS_RETRY_MS);
  }
  throw dieFault(`cfs-lock '${name}' error: got lock request timeout`);
}
