/**
 * The location of a storage's data, apart from its definition: a removed definition leaves its files behind, and a new
 * one for the same location finds them again.
 */
import type { Storage, StorageData, Volume, World } from '../world/world.ts';
import { volumeGroup, zfsPool } from './paths.ts';

/** Names the directory, export, volume group or pool; two definitions with the same name share their data. */
function placeOf(storage: Storage): string {
  switch (storage.type) {
    case 'dir':
      return `dir ${storage.path}`;
    case 'nfs':
      return `nfs ${storage.options.get('server')}:${storage.options.get('export')}`;
    case 'lvm':
      return `lvm ${volumeGroup(storage)}`;
    case 'lvmthin':
      return `lvmthin ${volumeGroup(storage)}/${storage.options.get('thinpool') ?? storage.filesystem}`;
    case 'zfspool':
      return `zfspool ${zfsPool(storage)}`;
    case 'rbd':
      return `rbd ${storage.options.get('pool') ?? 'rbd'}/${storage.options.get('namespace') ?? ''}`;
  }
}

/** Rule [recorded storage-delete-in-use]: removing a definition touches no file. */
export function leaveData(world: World, storage: Storage): void {
  world.leftBehind.set(placeOf(storage), { filesystem: storage.filesystem, volumes: storage.volumes });
}

/**
 * The new storage with the data at its location. A location that an active storage uses has that storage's file system;
 * while both definitions exist, each shows only its own files.
 */
export function withDataOf(world: World, storage: Storage): Storage {
  const place = placeOf(storage);
  const sibling = [...world.storages.values()].find((other) => placeOf(other) === place);
  const left = world.leftBehind.get(place);
  world.leftBehind.delete(place);
  const filesystem = left?.filesystem ?? sibling?.filesystem ?? storage.filesystem;
  return { ...storage, filesystem, volumes: renamed(left?.volumes ?? new Map(), storage.id) };
}

function renamed(data: StorageData['volumes'], id: string): Storage['volumes'] {
  const own = (volumes: ReadonlyMap<string, Volume>) =>
    new Map([...volumes].map(([name, volume]) => [name, { ...volume, storage: id }]));
  return new Map([...data].map(([node, volumes]) => [node, own(volumes)]));
}

/** Rule [assumed]: one who calls a local storage shared means that every node sees the same files, and the other way round. */
export function withSharing(world: World, storage: Storage, isShared: boolean): Storage {
  if (storage.shared === isShared) return storage;
  const merged = new Map([...storage.volumes.values()].flatMap((volumes) => [...volumes]));
  const nodes = isShared ? ['*'] : [...world.nodes.keys()];
  return { ...storage, shared: isShared, volumes: new Map(nodes.map((node) => [node, new Map(merged)])) };
}

/**
 * Rule [source ST Storage/DirPlugin.pm parse_is_mountpoint]: a true word means the storage's own path, a path means itself.
 */
export function expectedMountPoint(storage: Storage): string | undefined {
  const value = storage.options.get('is_mountpoint') ?? '0';
  if (/^(?:0|no|off|false)?$/i.test(value)) return undefined;
  return /^(?:1|yes|on|true)$/i.test(value) ? storage.path : value;
}

/** Rule [assumed]: a directory is a mount point if the one above it lies on another file system. */
export function isMountPoint(world: World, path: string): boolean {
  const above = path.replace(/\/[^/]*$/, '');
  return filesystemAt(world, path) !== filesystemAt(world, above);
}

/**
 * Rule [assumed]: a directory lies on the file system of the storage whose path it continues, else on that of `local` or of
 * the first directory that is a storage.
 */
export function filesystemAt(world: World, path: string): string {
  const directories = [...world.storages.values()].filter(({ type }) => type === 'dir');
  let best: Storage | undefined;
  for (const storage of directories) {
    const above = storage.path ?? '';
    const contains = path === above || path.startsWith(`${above}/`);
    if (contains && above.length > (best?.path?.length ?? -1)) best = storage;
  }
  return (best ?? world.storages.get('local') ?? directories[0])?.filesystem ?? '';
}

/** Rule [assumed]: the directories that every host has. */
const SYSTEM_DIRECTORIES = ['/etc', '/home', '/media', '/mnt/pve', '/opt', '/root', '/srv', '/tmp', '/usr', '/var/lib'];

/** Rule [assumed]: besides those, the directories of the storages, what lies above them, and what the world file lists. */
export function isHostDirectory(world: World, node: string, path: string): boolean {
  const requested = path.replace(/\/+$/, '');
  const known = [
    ...SYSTEM_DIRECTORIES,
    ...(world.nodes.get(node)?.directories ?? []),
    ...[...world.storages.values()].flatMap((storage) => (storage.path === undefined ? [] : [storage.path])),
  ];
  return known.some((directory) => directory === requested || directory.startsWith(`${requested}/`));
}
