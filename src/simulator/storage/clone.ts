/** Volumes that share data: converts an image to a base, and creates linked clones of it. */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { Storage, Volume } from '../world/world.ts';
import { addVolume, nextDiskName, renameInPlace, volumesOf } from './catalogue.ts';
import { backedFormattingLine, emptyImageBytes, preallocationOf } from './image-files.ts';
import { isFileBased, type ParsedVolumeName, parseVolumeName, splitVolid } from './names.ts';
import { volumeGroup, volumePath, zfsPool } from './paths.ts';
import { activateStorage, type LogLine, withStorageLock } from './space.ts';
import { findImageFile, findVolume, imageFormat } from './volumes.ts';

export interface LinkedCloneInput {
  readonly node: string;
  readonly volid: string;
  readonly newVmid: number;
  readonly snapshot?: string;
  readonly log: LogLine;
}

/** Rule [recorded clone-linked]: a linked clone is a matter of a few dozen milliseconds. */
const CLONE_MS = 40;
const CONVERT_MS = 15;

/** Rule [source ST Storage.pm vdisk_clone]. */
export async function linkedClone(runtime: Runtime, input: LinkedCloneInput): Promise<Volume> {
  const { node, volid, newVmid, snapshot, log } = input;
  const { storage: id, name } = splitVolid(volid);
  const storage = activateStorage(runtime.world, id, node);
  return withStorageLock(runtime, { storage, node, log }, async () => {
    await runtime.clock.sleep(CLONE_MS);
    const parsed = parseVolumeName(storage, name);
    refuseClone(storage, name, parsed, snapshot);
    const source = findVolume(runtime.world, node, volid);
    if (!source) throw dieFault(`volume '${volid}' does not exist`);
    const format = isFileBased(storage) ? 'qcow2' : parsed.format;
    const file = nextDiskName(storage, node, newVmid, format);
    announce(storage, { name, parsed, file, newVmid, snapshot, source, log });
    const clone: Volume = {
      storage: id,
      name: cloneName(storage, parsed, newVmid, file, snapshot),
      content: 'images',
      format: imageFormat(format),
      sizeBytes: (snapshot === undefined ? undefined : source.snapshots.get(snapshot)?.sizeBytes) ?? source.sizeBytes,
      usedBytes: isFileBased(storage) ? emptyImageBytes('qcow2', source.sizeBytes, undefined) : 0,
      dataBytes: source.dataBytes,
      vmid: newVmid,
      ctime: runtime.clock.now(),
      parent: parsed.file,
      snapshots: new Map(),
      guest: source.guest,
    };
    addVolume(storage, node, clone);
    return clone;
  });
}

/** Rule [source ST plugins' clone_image]: what each kind of storage refuses to clone. */
function refuseClone(storage: Storage, name: string, parsed: ParsedVolumeName, snapshot: string | undefined): void {
  switch (storage.type) {
    case 'dir':
    case 'nfs':
      if (parsed.content !== 'images') throw dieFault(`clone_image on wrong vtype '${parsed.content}'`);
      if (snapshot !== undefined) throw dieFault('this storage type does not support clone_image on snapshot');
      if (parsed.format === 'subvol') throw dieFault('this storage type does not support clone_image on subvolumes');
      if (!parsed.isBase) throw dieFault('clone_image only works on base images');
      return;
    case 'lvm':
      throw dieFault("can't clone images in lvm storage");
    case 'lvmthin':
      if (snapshot === undefined && !parsed.isBase) throw dieFault('clone_image only works on base images');
      return;
    case 'zfspool':
      if (!parsed.isBase) throw dieFault('clone_image only works on base images');
      return;
    case 'rbd':
      if (!parsed.isBase && snapshot === undefined) {
        throw dieFault(`${name} is not a base image and snapname is not provided`);
      }
      return;
  }
}

/** Rule [source ST plugins' clone_image]: file, ZFS and Ceph clones carry their base in the name, LVM-thin clones do not. */
function cloneName(
  storage: Storage,
  base: ParsedVolumeName,
  vmid: number,
  file: string,
  snapshot: string | undefined,
): string {
  if (isFileBased(storage)) return `${base.vmid}/${base.file}/${vmid}/${file}`;
  if (storage.type === 'zfspool') return `${base.file}/${file}`;
  return storage.type === 'rbd' && snapshot === undefined ? `${base.file}/${file}` : file;
}

interface Announcement {
  readonly name: string;
  readonly parsed: ParsedVolumeName;
  readonly file: string;
  readonly newVmid: number;
  readonly snapshot: string | undefined;
  readonly source: Volume;
  readonly log: LogLine;
}

function announce(storage: Storage, { name, parsed, file, newVmid, snapshot, source, log }: Announcement): void {
  if (isFileBased(storage)) {
    // Rule [recorded clone-linked]: the clone is always qcow2, whatever the base is.
    const backing = `../${parsed.vmid}/${parsed.file}`;
    log(`clone ${name}: images, ${file}, ${newVmid} to ${file} (base=${backing})`);
    log(
      backedFormattingLine({
        path: volumePath(storage, `${newVmid}/${file}`),
        sizeBytes: source.sizeBytes,
        backing,
        backingFormat: parsed.format,
        preallocation: preallocationOf(storage, parsed.format),
      }),
    );
  } else if (storage.type === 'rbd') {
    // Rule [source ST Storage/RBDPlugin.pm clone_image].
    log(`clone ${name}: ${parsed.file} snapname ${snapshot ?? '__base__'} to ${file}`);
  } else if (storage.type === 'lvmthin') {
    log(`  Logical volume "${file}" created.`);
    log(`  Logical volume ${volumeGroup(storage)}/${file} changed.`);
  }
}

export interface ConvertInput {
  readonly node: string;
  readonly volid: string;
  readonly log: LogLine;
}

/** Rule [source ST Storage.pm vdisk_create_base]: the image is renamed; answers the new volume id. */
export async function convertToBase(runtime: Runtime, { node, volid, log }: ConvertInput): Promise<string> {
  const { storage: id, name } = splitVolid(volid);
  const storage = activateStorage(runtime.world, id, node);
  return withStorageLock(runtime, { storage, node, log }, async () => {
    await runtime.clock.sleep(CONVERT_MS);
    if (storage.type === 'lvm') throw dieFault("can't create base images in lvm storage");
    const parsed = parseVolumeName(storage, name);
    if (parsed.content !== 'images') throw dieFault(`create_base on wrong vtype '${parsed.content}'`);
    if (parsed.isBase) throw dieFault('create_base not possible with base image');
    const volume = findVolume(runtime.world, node, volid);
    if (!volume) {
      // Rule [observed 9.2.11]: of a file that is not there the log tells the path.
      if (isFileBased(storage)) log(`failed to stat '${volumePath(storage, name)}'`);
      throw dieFault(missingImage(storage, name, parsed));
    }
    const [firstSnapshot] = volume.snapshots.keys();
    // Rule [source ST Storage/LvmThinPlugin.pm create_base]: its own spelling.
    if (storage.type === 'lvmthin' && firstSnapshot !== undefined) {
      throw dieFault(`unable to create base volume - found snaphost 'snap_${name}_${firstSnapshot}'`);
    }
    const baseFile = parsed.file.replace(/^vm-/, 'base-').replace(/^subvol-/, 'basevol-');
    const newName = `${name.slice(0, name.length - parsed.file.length)}${baseFile}`;
    if (baseFile !== parsed.file && isTaken(storage, node, parsed, baseFile, newName)) {
      throw dieFault(takenBase(storage, parsed.file, baseFile, newName));
    }
    if (storage.type === 'lvmthin') logThinConversion(storage, name, newName, log);
    renameInPlace(storage, node, volume, newName);
    volume.ctime = runtime.clock.now();
    return `${id}:${newName}`;
  });
}

function isTaken(storage: Storage, node: string, parsed: ParsedVolumeName, file: string, name: string): boolean {
  if (!isFileBased(storage)) return volumesOf(storage, node).has(name);
  return findImageFile(storage, node, parsed.vmid ?? 0, file) !== undefined;
}

/**
 * Rule [source ST Storage/Plugin.pm create_base]; Rule [assumed]: elsewhere the renaming tool reports it, with these
 * messages.
 */
function takenBase(storage: Storage, file: string, baseFile: string, newName: string): string {
  if (storage.type === 'zfspool') {
    const pool = zfsPool(storage);
    return `zfs error: cannot rename '${pool}/${file}' to '${pool}/${baseFile}': dataset already exists`;
  }
  if (storage.type !== 'lvmthin') return `file '${volumePath(storage, newName)}' already exists`;
  return `${renameError(storage, file, baseFile)}   Logical volume "${baseFile}" already exists in volume group "${volumeGroup(storage)}"`;
}

function missingImage(storage: Storage, name: string, parsed: ParsedVolumeName): string {
  switch (storage.type) {
    case 'rbd':
      return `rbd volume info on '${parsed.file}' failed`;
    // Rule [source ST Storage/ZFSPoolPlugin.pm, LvmThinPlugin.pm create_base]: they rename without a check; the
    // messages are assumed.
    case 'zfspool':
      return `zfs error: cannot open '${zfsPool(storage)}/${parsed.file}': dataset does not exist`;
    case 'lvmthin': {
      const error = renameError(storage, name, name.replace(/^vm-/, 'base-'));
      return `${error}   Existing logical volume "${name}" not found in volume group "${volumeGroup(storage)}"`;
    }
    default:
      return `file_size_info on '${name}' failed`;
  }
}

function renameError(storage: Storage, from: string, to: string): string {
  const group = volumeGroup(storage);
  return `lvrename '${group}/${from}' => '${group}/${to}' error:`;
}

/** Rule [assumed]: LVM's own words for the three commands. */
function logThinConversion(storage: Storage, name: string, newName: string, log: LogLine): void {
  const group = volumeGroup(storage);
  log(`  Renamed "${name}" to "${newName}" in volume group "${group}"`);
  log(`  Logical volume ${group}/${newName} changed.`);
}
