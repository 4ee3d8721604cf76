/** Creates and removes disk images, under the storage's lock. */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { Storage, Volume, VolumeFormat } from '../world/world.ts';
import { addVolume, hasLinkedClones, nextDiskName, removeVolume, volumesOf } from './catalogue.ts';
import { emptyImageBytes, formattingLine, preallocationOf } from './image-files.ts';
import { isFileBased, parseImageFile, parseVolumeName, splitVolid } from './names.ts';
import { contentDirectory, usesVolumeChain, volumeGroup, volumePath, zfsPool } from './paths.ts';
import { activateStorage, availableBytes, type LogLine, withStorageLock } from './space.ts';
import { findImageFile, findVolume, imageFormat, storageConfig, storageFormats } from './volumes.ts';

export interface AllocateInput {
  readonly node: string;
  readonly storageId: string;
  readonly vmid: number;
  /** The storage's default when absent. */
  readonly format: VolumeFormat | undefined;
  readonly name?: string;
  readonly sizeKiB: number;
  readonly log: LogLine;
}

interface Allocation {
  readonly runtime: Runtime;
  readonly storage: Storage;
  readonly node: string;
  readonly vmid: number;
  readonly format: VolumeFormat;
  readonly name: string | undefined;
  readonly sizeBytes: number;
  readonly log: LogLine;
}

/** Rule [recorded storage-content]: about how long making an image takes; qcow2 has its tables to write. */
const ALLOCATE_MS = 30;
const ALLOCATE_QCOW2_MS = 60;
const FREE_MS = 8;

const MIB = 1024 ** 2;

/** The actual size of a disk on a storage. */
export function sizing(storage: Storage, sizeBytes: number): number {
  return Math.ceil(sizeBytes / granularityBytes(storage)) * granularityBytes(storage);
}

function granularityBytes(storage: Storage): number {
  switch (storage.type) {
    case 'dir':
    case 'nfs':
      return 1024;
    // Rule [assumed]: volume groups have LVM's default extents of 4 MiB.
    case 'lvm':
    case 'lvmthin':
      return 4 * MIB;
    // Rule [source ST Storage/ZFSPoolPlugin.pm zfs_create_zvol, Storage/RBDPlugin.pm alloc_image]: whole MiB.
    case 'zfspool':
    case 'rbd':
      return MIB;
  }
}

/** Rule [source ST Storage.pm vdisk_alloc]. */
export async function allocateVolume(runtime: Runtime, input: AllocateInput): Promise<Volume> {
  const { node, vmid, log } = input;
  const configured = storageConfig(runtime.world, input.storageId);
  const format = input.format ?? storageFormats(configured).default;
  const storage = activateStorage(runtime.world, input.storageId, node);
  return withStorageLock(runtime, { storage, node, log }, async () => {
    await runtime.clock.sleep(format === 'qcow2' ? ALLOCATE_QCOW2_MS : ALLOCATE_MS);
    const sizeBytes = input.sizeKiB * 1024;
    const allocation: Allocation = { runtime, storage, node, vmid, format, name: input.name, sizeBytes, log };
    const volume = isFileBased(storage) ? allocateFile(allocation) : allocateBlock(allocation);
    addVolume(storage, node, volume);
    return volume;
  });
}

/** Rule [source ST Storage/Plugin.pm alloc_image]. */
function allocateFile(allocation: Allocation): Volume {
  const { runtime, storage, node, vmid, format, sizeBytes, log } = allocation;
  const file = allocation.name ?? nextDiskName(storage, node, vmid, format);
  const named = parseImageFile(file).format;
  if (named !== format) {
    throw dieFault(`illegal name '${file}' - wrong extension for format ('${named} != '${format}')`);
  }
  const path = `${contentDirectory(storage, 'images')}/${vmid}/${file}`;
  if (findImageFile(storage, node, vmid, file)) throw dieFault(`disk image '${path}' already exists`);
  if (format === 'subvol' && sizeBytes !== 0) throw dieFault('storage does not support subvol quotas');
  const preallocation = preallocationOf(storage, format);
  const usedBytes = emptyImageBytes(format, sizeBytes, preallocation);
  // Rule [assumed]: an image is refused only when not even its first blocks fit; raw files are sparse.
  if (usedBytes > availableBytes(runtime.world, storage, node)) {
    throw dieFault(`unable to create image: qemu-img: ${path}: Could not write to file: No space left on device`);
  }
  if (format !== 'subvol') log(formattingLine(path, format, sizeBytes, preallocation));
  return newVolume(allocation, `${vmid}/${file}`, sizeBytes, usedBytes);
}

function allocateBlock(allocation: Allocation): Volume {
  const { runtime, storage, node, vmid, format } = allocation;
  refuseFormat(storage, format);
  const prefix = format === 'subvol' ? 'subvol' : 'vm';
  if (storage.type !== 'lvm' && allocation.name !== undefined && !allocation.name.startsWith(`${prefix}-${vmid}-`)) {
    throw dieFault(`illegal name '${allocation.name}' - should be '${prefix}-${vmid}-*'`);
  }
  const name = allocation.name ?? nextDiskName(storage, node, vmid, format);
  const named = parseVolumeName(storage, name).format;
  if (storage.type === 'lvm' && named !== format) {
    const stem = name.replace(/\.[^.]+$/, '');
    const suggested = format === 'qcow2' ? `${stem}.qcow2` : stem;
    throw dieFault(`volume name '${name}' does not match requested format '${format}' (did you mean '${suggested}'?)`);
  }
  const sizeBytes = sizing(storage, allocation.sizeBytes);
  const freeBytes = availableBytes(runtime.world, storage, node);
  // Rule [source ST Storage/LVMPlugin.pm alloc_lvm_image]: compares bytes free with KiB requested, so lvcreate is who refuses.
  if (storage.type === 'lvm' && freeBytes < allocation.sizeBytes / 1024) {
    throw dieFault(`not enough free space (${freeBytes} < ${allocation.sizeBytes / 1024})`);
  }
  if (volumesOf(storage, node).has(name)) throw dieFault(alreadyExists(storage, name));
  const usedBytes = isReserved(storage) ? sizeBytes : 0;
  if (usedBytes > freeBytes) throw dieFault(noSpace(storage, name, sizeBytes, freeBytes));
  logCreation(allocation, name, sizeBytes);
  return newVolume(allocation, name, sizeBytes, usedBytes);
}

/** Whether a volume takes its whole size from the beginning. */
export function isReserved(storage: Storage): boolean {
  return storage.type === 'lvm' || (storage.type === 'zfspool' && storage.options.get('sparse') !== '1');
}

function newVolume(allocation: Allocation, name: string, sizeBytes: number, usedBytes: number): Volume {
  return {
    storage: allocation.storage.id,
    name,
    content: 'images',
    format: imageFormat(allocation.format),
    sizeBytes,
    usedBytes,
    dataBytes: 0,
    vmid: allocation.vmid,
    ctime: allocation.runtime.clock.now(),
    parent: undefined,
    snapshots: new Map(),
    guest: undefined,
  };
}

/** Rule [source ST Storage/LvmThinPlugin.pm, LVMPlugin.pm, ZFSPoolPlugin.pm alloc_image]: dies without line break, hence the place. */
function refuseFormat(storage: Storage, format: VolumeFormat): void {
  const plugins = '/usr/share/perl5/PVE/Storage';
  if (storage.type === 'lvmthin' && format !== 'raw') {
    throw dieFault(`unsupported format '${format}' at ${plugins}/LvmThinPlugin.pm line 102.`);
  }
  if (storage.type === 'lvm' && format !== 'raw' && format !== 'qcow2') {
    throw dieFault(`unsupported format '${format}' at ${plugins}/LVMPlugin.pm line 696.`);
  }
  if (storage.type === 'lvm' && format === 'qcow2' && !usesVolumeChain(storage)) {
    throw dieFault(
      `snapshot-as-volume-chain option need to be enabled to use qcow2 format at ${plugins}/LVMPlugin.pm line 698.`,
    );
  }
  if (storage.type === 'zfspool' && format !== 'raw' && format !== 'subvol') {
    throw dieFault(`unsupported format '${format}' at ${plugins}/ZFSPoolPlugin.pm line 292.`);
  }
}

/** Rule [assumed]: the messages of the tools below Proxmox if a name is in use. */
function alreadyExists(storage: Storage, name: string): string {
  if (storage.type === 'zfspool')
    return `zfs error: cannot create '${zfsPool(storage)}/${name}': dataset already exists`;
  if (storage.type === 'rbd') return `rbd create '${name}' error: rbd: create error: (17) File exists`;
  const group = volumeGroup(storage);
  return `lvcreate '${group}/${name}' error:   Logical Volume "${name}" already exists in volume group "${group}"`;
}

/** Rule [assumed]: the messages of LVM and ZFS if there is no space. */
function noSpace(storage: Storage, name: string, sizeBytes: number, freeBytes: number): string {
  if (storage.type === 'zfspool') return `zfs error: cannot create '${zfsPool(storage)}/${name}': out of space`;
  const group = volumeGroup(storage);
  const extents = (bytes: number) => Math.floor(bytes / granularityBytes(storage));
  return (
    `lvcreate '${group}/${name}' error:   Volume group "${group}" has insufficient free space ` +
    `(${extents(freeBytes)} extents): ${extents(sizeBytes)} required.`
  );
}

/** Rule [assumed]: LVM reports its actions, ZFS and Ceph are silent. */
function logCreation({ storage, log, ...allocation }: Allocation, name: string, sizeBytes: number): void {
  if (storage.type !== 'lvm' && storage.type !== 'lvmthin') return;
  if (sizeBytes !== allocation.sizeBytes) {
    log(`  Rounding up size to full physical extent ${(sizeBytes / MIB).toFixed(2)} MiB`);
  }
  log(`  Logical volume "${name}" created.`);
  if (storage.type === 'lvmthin') log(`  Logical volume ${volumeGroup(storage)}/${name} changed.`);
  if (allocation.format === 'qcow2') {
    log(formattingLine(volumePath(storage, name), 'qcow2', allocation.sizeBytes, preallocationOf(storage, 'qcow2')));
  }
}

export interface FreeInput {
  readonly node: string;
  readonly volid: string;
  readonly log: LogLine;
}

/** Rule [source ST Storage.pm vdisk_free]. */
export async function freeVolume(runtime: Runtime, { node, volid, log }: FreeInput): Promise<void> {
  const { storage: id, name } = splitVolid(volid);
  storageConfig(runtime.world, id);
  const storage = activateStorage(runtime.world, id, node);
  await withStorageLock(runtime, { storage, node, log }, async () => {
    await runtime.clock.sleep(FREE_MS);
    const parsed = parseVolumeName(storage, name);
    if (parsed.isBase && hasLinkedClones(storage, node, parsed)) {
      throw dieFault(`base volume '${name}' is still in use by linked clones`);
    }
    const volume = findVolume(runtime.world, node, volid);
    if (!volume) return reportMissing(storage, name, log);
    removeVolume(storage, node, volume);
    if (storage.type === 'lvm' || storage.type === 'lvmthin') log(`  Logical volume "${name}" successfully removed.`);
    if (storage.type === 'rbd') log('Removing image: 100% complete...done.');
  });
}

/** Rule [source ST Storage/Plugin.pm, LvmThinPlugin.pm, ZFSPoolPlugin.pm, RBDPlugin.pm free_image]: mostly no error. */
function reportMissing(storage: Storage, name: string, log: LogLine): void {
  switch (storage.type) {
    case 'dir':
    case 'nfs':
      log(`disk image '${volumePath(storage, name)}' does not exist`);
      return;
    case 'lvmthin':
    case 'zfspool':
      return;
    case 'lvm': {
      const path = `${volumeGroup(storage)}/${name}`;
      throw dieFault(`lvremove '${path}' error:   Failed to find logical volume "${path}"`);
    }
    case 'rbd':
      throw dieFault(`rbd error: rbd: error opening image ${name}: (2) No such file or directory`);
  }
}
