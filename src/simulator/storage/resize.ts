/** Grows a volume, or gives it to another guest. */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { Storage, Volume } from '../world/world.ts';
import { isReserved, sizing } from './allocate.ts';
import { addVolume, nextDiskName, removeVolume, setUsedBytes, volumesOf } from './catalogue.ts';
import { commandFailure, preallocationOf } from './image-files.ts';
import { isFileBased, parseVolumeName, splitVolid } from './names.ts';
import { usesVolumeChain, volumeGroup, volumePath } from './paths.ts';
import { activateStorage, availableBytes, type LogLine, withStorageLock } from './space.ts';
import { findImageFile, findVolume, storageConfig } from './volumes.ts';

export interface ResizeInput {
  readonly node: string;
  readonly volid: string;
  readonly sizeBytes: number;
  /** QEMU resizes the file of a running VM itself; then nothing is printed. */
  readonly running?: boolean;
  readonly log?: LogLine;
}

/** Rule [recorded resize]: resizing takes a moment. */
const RESIZE_MS = 15;
const LVM_EXTENT_BYTES = 4 * 1024 ** 2;

/** Rule [source ST Storage.pm volume_resize]: rounded up to whole KiB, then by the storage. Answers the new size. */
export async function resizeVolume(runtime: Runtime, input: ResizeInput): Promise<number> {
  const { node, volid, running = false } = input;
  const log = input.log ?? (() => {});
  const { storage: id, name } = splitVolid(volid);
  const storage = storageConfig(runtime.world, id);
  const parsed = parseVolumeName(storage, name);
  const volume = findVolume(runtime.world, node, volid);
  if (!volume) throw dieFault(`volume '${volid}' does not exist`);
  if (isFileBased(storage) && !/\.(raw|qcow2)$/.test(name)) throw dieFault("can't resize this image format");
  await runtime.clock.sleep(RESIZE_MS);
  const askedBytes = Math.ceil(input.sizeBytes / 1024) * 1024;
  const sizeBytes = sizing(storage, askedBytes);
  if (isFileBased(storage)) {
    if (!running) resizeFile(storage, name, parsed.isBase, askedBytes, log);
  } else if (storage.type === 'lvm' || storage.type === 'lvmthin') {
    resizeLogicalVolume(runtime, storage, node, volume, sizeBytes, log);
  } else if (storage.type === 'rbd' && !running) {
    log('Resizing image: 100% complete...done.');
  }
  if (isReserved(storage)) setUsedBytes(storage, node, volume, sizeBytes);
  volume.sizeBytes = sizeBytes;
  volume.ctime = runtime.clock.now();
  return sizeBytes;
}

function resizeFile(storage: Storage, name: string, isBase: boolean, sizeBytes: number, log: LogLine): void {
  const path = volumePath(storage, name);
  const format = parseVolumeName(storage, name).format;
  if (!isBase) {
    log('Image resized.');
    return;
  }
  // Rule [recorded template-convert]: the file of a base volume is immutable.
  log(`qemu-img: Could not open '${path}': Could not open '${path}': Operation not permitted`);
  const preallocation = `--preallocation=${preallocationOf(storage, format)}`;
  const command = ['/usr/bin/qemu-img', 'resize', preallocation, '-f', format, path, String(sizeBytes)];
  throw commandFailure(command, 'exit code 1');
}

/** Rule [source ST Storage/LVMPlugin.pm volume_resize]; Rule [assumed]: LVM's own words. */
function resizeLogicalVolume(
  runtime: Runtime,
  storage: Storage,
  node: string,
  volume: Volume,
  sizeBytes: number,
  log: LogLine,
): void {
  const missingExtents = (sizeBytes - volume.sizeBytes) / LVM_EXTENT_BYTES;
  const freeExtents = Math.floor(availableBytes(runtime.world, storage, node) / LVM_EXTENT_BYTES);
  if (isReserved(storage) && missingExtents > freeExtents) {
    throw dieFault(
      `error resizing volume '${volumePath(storage, volume.name)}':   Insufficient free space: ` +
        `${missingExtents} extents needed, but only ${freeExtents} available`,
    );
  }
  const shown = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(2)} GiB (${bytes / LVM_EXTENT_BYTES} extents)`;
  const path = `${volumeGroup(storage)}/${volume.name}`;
  log(`  Size of logical volume ${path} changed from ${shown(volume.sizeBytes)} to ${shown(sizeBytes)}.`);
  log(`  Logical volume ${path} successfully resized.`);
}

export interface RenameInput {
  readonly node: string;
  readonly volid: string;
  readonly targetVmid: number;
  /** The lowest free disk name of the new owner when absent. */
  readonly targetName?: string;
  readonly log: LogLine;
}

/** Rule [source ST Storage.pm rename_volume]: the volume changes hands; answers the new volume id. */
export async function renameVolume(runtime: Runtime, input: RenameInput): Promise<string> {
  const { node, volid, targetVmid, log } = input;
  const { storage: id, name } = splitVolid(volid);
  const storage = activateStorage(runtime.world, id, node);
  return withStorageLock(runtime, { storage, node, log }, async () => {
    await runtime.clock.sleep(RESIZE_MS);
    const parsed = parseVolumeName(storage, name);
    const volume = findVolume(runtime.world, node, volid);
    if (!volume) throw dieFault(`volume '${volid}' does not exist`);
    refuseChained(storage, name, volume);
    const file = input.targetName ?? nextDiskName(storage, node, targetVmid, parsed.format);
    const isTaken = isFileBased(storage)
      ? findImageFile(storage, node, targetVmid, file) !== undefined
      : volumesOf(storage, node).has(file);
    if (isTaken) throw dieFault(`target volume '${file}' already exists`);
    const base = parsed.base;
    const newName = isFileBased(storage)
      ? `${base ? `${base.vmid}/${base.name}/` : ''}${targetVmid}/${file}`
      : `${base ? `${base.name}/` : ''}${file}`;
    removeVolume(storage, node, volume);
    addVolume(storage, node, { ...volume, name: newName, vmid: targetVmid, ctime: runtime.clock.now() });
    return `${id}:${newName}`;
  });
}

/** Rule [source ST Storage/Plugin.pm, Storage/LVMPlugin.pm rename_volume]: not while a chain of snapshots hangs on it. */
function refuseChained(storage: Storage, name: string, volume: Volume): void {
  if (!usesVolumeChain(storage) || volume.snapshots.size === 0) return;
  if (storage.type === 'lvm') throw dieFault(`can't rename volume '${name}' - external snapshot exists`);
  throw dieFault("we can't rename volume if a snapshot backed by a volume-chain exists");
}
