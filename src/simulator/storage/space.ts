/** How much room a storage has: the file system or pool below it, and whether it can be reached at all. */
import { dieFault } from '../http/response.ts';
import type { FileSystem, Storage, World } from '../world/world.ts';
import { usedBytesOf } from './catalogue.ts';
import { volumeGroup, zfsPool } from './paths.ts';
import { checkStorageEnabled, isOnNode } from './volumes.ts';

export interface StorageSpace {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly availableBytes: number;
}

/** Undefined when the storage is not active on the node. */
export function storageSpace(world: World, storage: Storage, node: string): StorageSpace | undefined {
  if (storage.disabled || !isOnNode(storage, node)) return undefined;
  const holder = storage.shared ? world.entryNode : node;
  const filesystem = world.nodes.get(holder)?.filesystems.get(storage.filesystem);
  if (!filesystem) return undefined;
  const usedBytes = filesystemUsage(world, filesystem, holder);
  const availableBytes = Math.max(0, filesystem.totalBytes - filesystem.reservedBytes - usedBytes);
  // Rule [source ST Storage/ZFSPoolPlugin.pm, Storage/RBDPlugin.pm status]: pools report used plus available as total.
  const isPool = storage.type === 'zfspool' || storage.type === 'rbd';
  return { totalBytes: isPool ? usedBytes + availableBytes : filesystem.totalBytes, usedBytes, availableBytes };
}

export function availableBytes(world: World, storage: Storage, node: string): number {
  return storageSpace(world, storage, node)?.availableBytes ?? 0;
}

/** Everything on one file system counts, through whichever storage it was put there. */
function filesystemUsage(world: World, filesystem: FileSystem, node: string): number {
  let usedBytes = filesystem.foreignBytes;
  for (const storage of world.storages.values()) {
    if (storage.filesystem !== filesystem.name) continue;
    if (storage.shared && node !== world.entryNode) continue;
    usedBytes += usedBytesOf(storage, node);
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
    case 'dir':
      return `unable to activate storage '${storage.id}' - directory '${storage.path}' does not exist or is unreachable`;
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
