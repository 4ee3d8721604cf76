/** Which file system or pool of a node a newly defined storage lies on. */
import type { Storage, StorageType, World } from '../world/world.ts';

/**
 * Rule [assumed]: a new directory lies on the file system of the storage whose path it continues, else on that of
 * `local`; pools and volume groups must exist on the node under their own name.
 */
export function filesystemFor(
  world: World,
  type: StorageType,
  path: string | undefined,
  settings: ReadonlyMap<string, string>,
): string {
  switch (type) {
    case 'dir': {
      let best: Storage | undefined = world.storages.get('local');
      for (const storage of world.storages.values()) {
        if (storage.type !== 'dir' || storage.path === undefined || !path?.startsWith(`${storage.path}/`)) continue;
        if (!best?.path || !path.startsWith(`${best.path}/`) || storage.path.length > best.path.length) best = storage;
      }
      return best?.filesystem ?? '';
    }
    case 'nfs':
      return `${settings.get('server')}:${settings.get('export')}`;
    case 'lvmthin':
      return existingFilesystem(world, [
        `${settings.get('vgname')}/${settings.get('thinpool')}`,
        settings.get('thinpool') ?? '',
      ]);
    case 'lvm':
      return settings.get('vgname') ?? '';
    case 'zfspool':
    case 'rbd':
      return settings.get('pool') ?? 'rbd';
  }
}

function existingFilesystem(world: World, names: readonly string[]): string {
  const filesystems = world.nodes.get(world.entryNode)?.filesystems;
  return names.find((name) => filesystems?.has(name)) ?? names[0] ?? '';
}
