/** Storages and volumes by id: looking them up, and the refusals when they are missing, disabled or elsewhere. */
import { dieFault } from '../http/response.ts';
import type { Storage, Volume, VolumeFormat, World } from '../world/world.ts';
import { hasLinkedClones, volumesOf, volumesOfGuest } from './catalogue.ts';
import { isFileBased, parseVolumeName, splitVolid, trySplitVolid } from './names.ts';
import { usesVolumeChain, volumePath } from './paths.ts';

export { volumesOf } from './catalogue.ts';
export { parseVolumeName, splitVolid } from './names.ts';
export { volumePath } from './paths.ts';

export function storageConfig(world: World, id: string): Storage {
  const storage = world.storages.get(id);
  if (!storage) throw dieFault(`storage '${id}' does not exist`);
  return storage;
}

/** Rule [source ST Storage.pm storage_check_enabled]: disabled first, then the list of nodes. */
export function checkStorageEnabled(world: World, id: string, node: string): Storage {
  const storage = storageConfig(world, id);
  if (storage.disabled) throw dieFault(`storage '${id}' is disabled`);
  if (!isOnNode(storage, node)) throw dieFault(`storage '${id}' is not available on node '${node}'`);
  return storage;
}

export function isOnNode(storage: Storage, node: string): boolean {
  return storage.nodes?.has(node) ?? true;
}

export function volidOf(volume: Volume): string {
  return `${volume.storage}:${volume.name}`;
}

/**
 * Rule [source ST Storage/Plugin.pm filesystem_path]: on file-based storages the owner directory and file name decide, so a
 * linked clone is also found by its name without the base.
 */
export function findVolume(world: World, node: string, volid: string): Volume | undefined {
  const split = trySplitVolid(volid);
  const storage = split && world.storages.get(split.storage);
  if (!split || !storage) return undefined;
  const exact = volumesOf(storage, node).get(split.name);
  if (exact || !isFileBased(storage)) return exact;
  const image = /(?:^|\/)(\d+)\/([^/]+)$/.exec(split.name);
  return image ? findImageFile(storage, node, Number(image[1]), image[2] ?? '') : undefined;
}

/** The image of a guest with this file name, whatever base its volume name carries. */
export function findImageFile(storage: Storage, node: string, vmid: number, file: string): Volume | undefined {
  for (const volume of volumesOfGuest(storage, node, vmid)) {
    if (volume.name === file || volume.name.endsWith(`/${file}`)) return volume;
  }
  return undefined;
}

/** The file of a storage that has this path on the node. */
export function volumeAtPath(world: World, node: string, path: string): Volume | undefined {
  for (const storage of world.storages.values()) {
    if (!isFileBased(storage) || storage.disabled || !isOnNode(storage, node)) continue;
    for (const volume of volumesOf(storage, node).values()) {
      if (volumePath(storage, volume.name) === path) return volume;
    }
  }
  return undefined;
}

/** Rule [source ST Storage.pm volume_is_base_and_used]: clones on LVM-thin do not name their base, so there it never is. */
export function isBaseInUse(world: World, node: string, volid: string): boolean {
  const { storage: id, name } = splitVolid(volid);
  const storage = storageConfig(world, id);
  const parsed = parseVolumeName(storage, name);
  return parsed.isBase && hasLinkedClones(storage, node, parsed);
}

export interface StorageFormats {
  /** Sorted. */
  readonly supported: readonly VolumeFormat[];
  readonly default: VolumeFormat;
}

/** Rule [source ST Storage/Plugin.pm get_formats and the plugins' plugindata]. */
export function storageFormats(storage: Storage): StorageFormats {
  const configured = storage.options.get('format');
  switch (storage.type) {
    case 'dir':
      return { supported: ['qcow2', 'raw', 'subvol', 'vmdk'], default: imageFormat(configured) };
    case 'nfs':
      return { supported: ['qcow2', 'raw', 'vmdk'], default: imageFormat(configured) };
    case 'lvm':
      // Rule [source ST Storage/LVMPlugin.pm get_formats]: volume chains need qcow2, and prefer it.
      return usesVolumeChain(storage)
        ? { supported: ['qcow2', 'raw'], default: 'qcow2' }
        : { supported: ['raw'], default: 'raw' };
    case 'zfspool':
      return { supported: ['raw', 'subvol'], default: 'raw' };
    case 'lvmthin':
    case 'rbd':
      return { supported: ['raw'], default: 'raw' };
  }
}

/** The image format that a parsed name or an option means. */
export function imageFormat(text: string | undefined): VolumeFormat {
  return text === 'qcow2' || text === 'vmdk' || text === 'subvol' ? text : 'raw';
}
