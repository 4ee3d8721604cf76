/**
 * The volumes of a storage with indexes for frequent lookups: owners, linked clones, used space, free names. Every
 * change of a storage's volume map goes through here, so that no lookup scans thousands of volumes.
 */
import { dieFault } from '../http/response.ts';
import type { Storage, Volume } from '../world/world.ts';
import { isFileBased, type ParsedVolumeName, parseVolumeName } from './names.ts';

interface Index {
  readonly byOwner: Map<number, Set<Volume>>;
  /** Number of linked clones by the base they name. */
  readonly clones: Map<string, number>;
  /** What each volume contributed to `usedBytes`. */
  readonly counted: Map<Volume, number>;
  usedBytes: number;
}

const indexes = new WeakMap<Map<string, Volume>, Index>();

/** Rule [source ST Storage.pm volume_list]: local storages have their own volumes on every node, shared ones everywhere the same. */
export function volumesOf(storage: Storage, node: string): Map<string, Volume> {
  const key = storage.shared ? '*' : node;
  const existing = storage.volumes.get(key);
  if (existing) return existing;
  const created = new Map<string, Volume>();
  storage.volumes.set(key, created);
  return created;
}

export function addVolume(storage: Storage, node: string, volume: Volume): void {
  const volumes = volumesOf(storage, node);
  const index = indexOf(storage, volumes);
  const replaced = volumes.get(volume.name);
  if (replaced) forget(storage, index, replaced);
  volumes.set(volume.name, volume);
  remember(storage, index, volume);
}

export function removeVolume(storage: Storage, node: string, volume: Volume): void {
  const volumes = volumesOf(storage, node);
  const index = indexOf(storage, volumes);
  if (!volumes.delete(volume.name)) return;
  forget(storage, index, volume);
}

/** Changes a volume's name under which it is found; the object stays the same. */
export function renameInPlace(storage: Storage, node: string, volume: Volume, name: string): void {
  removeVolume(storage, node, volume);
  volume.name = name;
  addVolume(storage, node, volume);
}

/** Updates the space that a volume uses. */
export function setUsedBytes(storage: Storage, node: string, volume: Volume, usedBytes: number): void {
  volume.usedBytes = usedBytes;
  const index = indexOf(storage, volumesOf(storage, node));
  const before = index.counted.get(volume);
  if (before === undefined) return;
  index.counted.set(volume, usedBytes);
  index.usedBytes += usedBytes - before;
}

export function volumesOfGuest(storage: Storage, node: string, vmid: number): Iterable<Volume> {
  return indexOf(storage, volumesOf(storage, node)).byOwner.get(vmid) ?? [];
}

export function hasLinkedClones(storage: Storage, node: string, base: ParsedVolumeName): boolean {
  return (indexOf(storage, volumesOf(storage, node)).clones.get(baseKey(base.vmid, base.file)) ?? 0) > 0;
}

export function usedBytesOf(storage: Storage, node: string): number {
  return indexOf(storage, volumesOf(storage, node)).usedBytes;
}

function indexOf(storage: Storage, volumes: Map<string, Volume>): Index {
  const existing = indexes.get(volumes);
  // A world under construction is filled directly; the count shows that the index does not have those volumes yet.
  if (existing && existing.counted.size === volumes.size) return existing;
  const index: Index = { byOwner: new Map(), clones: new Map(), counted: new Map(), usedBytes: 0 };
  for (const volume of volumes.values()) remember(storage, index, volume);
  indexes.set(volumes, index);
  return index;
}

function remember(storage: Storage, index: Index, volume: Volume): void {
  index.counted.set(volume, volume.usedBytes);
  index.usedBytes += volume.usedBytes;
  const { vmid, base } = parseVolumeName(storage, volume.name);
  if (vmid !== undefined) {
    const owned = index.byOwner.get(vmid) ?? new Set();
    owned.add(volume);
    index.byOwner.set(vmid, owned);
  }
  if (base) countClone(index, baseKey(base.vmid, base.name), 1);
}

function forget(storage: Storage, index: Index, volume: Volume): void {
  index.usedBytes -= index.counted.get(volume) ?? 0;
  index.counted.delete(volume);
  const { vmid, base } = parseVolumeName(storage, volume.name);
  if (vmid !== undefined) index.byOwner.get(vmid)?.delete(volume);
  if (base) countClone(index, baseKey(base.vmid, base.name), -1);
}

function countClone(index: Index, key: string, change: number): void {
  index.clones.set(key, (index.clones.get(key) ?? 0) + change);
}

const baseKey = (vmid: number | undefined, file: string) => `${vmid}/${file}`;

/** Rule [source ST Storage/Plugin.pm $MAX_VOLUMES_PER_GUEST]. */
const MAX_VOLUMES_PER_GUEST = 1024;

/**
 * Rule [source ST Storage/Plugin.pm get_next_vm_diskname]: numbers are shared by all formats where the storage knows
 * subvolumes (dir, zfspool); elsewhere only volumes with the same extension count.
 */
export function nextDiskName(storage: Storage, node: string, vmid: number, format: string): string {
  const suffix = isFileBased(storage) || (storage.type === 'lvm' && format === 'qcow2') ? `.${format}` : '';
  const knowsSubvolumes = storage.type === 'dir' || storage.type === 'zfspool';
  const pattern = knowsSubvolumes
    ? new RegExp(`(?:vm|base|subvol|basevol)-${vmid}-disk-(\\d+)`)
    : new RegExp(`(?:vm|base)-${vmid}-disk-(\\d+)${suffix.replace('.', '\\.')}`);
  const taken = new Set<number>();
  for (const volume of volumesOfGuest(storage, node, vmid)) {
    const match = pattern.exec(volume.name);
    if (match) taken.add(Number(match[1]));
  }
  for (let number = 0; number < MAX_VOLUMES_PER_GUEST; number++) {
    if (!taken.has(number)) return `${format === 'subvol' ? 'subvol' : 'vm'}-${vmid}-disk-${number}${suffix}`;
  }
  throw dieFault(`unable to allocate an image name for VM ${vmid} in storage '${storage.id}'`);
}
