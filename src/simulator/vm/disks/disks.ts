/**
 * Turns the drive parameters of a create or update into volumes: allocates new ones, creates cloud-init drives, imports
 * images, checks existing volumes. Mirrors `create_disks`.
 */
import { printSize } from '../../../pve/wire/index.ts';
import type { Runtime } from '../../core/runtime.ts';
import { type Task, unlessKilled } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';
import { allocateVolume, freeVolume } from '../../storage/allocate.ts';
import { convertToBase } from '../../storage/clone.ts';
import { copyVolume } from '../../storage/copy.ts';
import { hasFeature } from '../../storage/features.ts';
import { isFileBased, trySplitVolid } from '../../storage/names.ts';
import { usesVolumeChain } from '../../storage/paths.ts';
import { activateStorage } from '../../storage/space.ts';
import {
  findVolume,
  parseVolumeName,
  splitVolid,
  storageConfig,
  storageFormats,
  volidOf,
  volumeAtPath,
  volumePath,
} from '../../storage/volumes.ts';
import type { VolumeFormat } from '../../world/world.ts';
import { cloudInitDriveKey, findVm, isTemplate } from '../config/config-file.ts';
import { isDriveKey } from '../config/config-keys.ts';
import { withVmLock } from '../config/locking.ts';
import { errorText } from '../error-text.ts';
import { CLOUD_INIT_SIZE_BYTES, cloneDisk, TPM_SIZE_BYTES } from './clone-disk.ts';
import {
  type Drive,
  drivesOf,
  isCloudInitFile,
  makeDrive,
  newVolumeOf,
  parseDrive,
  printDrive,
  withOptions,
} from './drive.ts';
import { efiDiskLog, efiVarsSizeBytes } from './firmware.ts';

interface CreatedDisks {
  /** Drive key → final property string. */
  readonly values: Map<string, string>;
  /** Volumes created so far; freed if a later step fails. */
  readonly volumes: string[];
}

/** Rule [source QS API2/Qemu.pm create_disks]: in sorted order of the keys; on failure what was made is freed again. */
export async function createDisks(job: DiskJob, settings: ReadonlyMap<string, string>): Promise<CreatedDisks> {
  const values = new Map<string, string>();
  const volumes: string[] = [];
  try {
    for (const key of [...settings.keys()].filter(isDriveKey).sort()) {
      const drive = parseDrive(key, settings.get(key) ?? '');
      if (drive) values.set(key, printDrive(await createDisk(job, drive, values, volumes)));
    }
  } catch (error) {
    unlessKilled(job.task);
    await freeVolumes(job, volumes);
    throw error;
  }
  return { values, volumes };
}

export async function freeVolumes(job: DiskJob, volumes: readonly string[]): Promise<void> {
  for (const volid of volumes) {
    try {
      await freeVolume(job.runtime, { node: job.node, volid, log: (line) => job.task?.log(line) });
    } catch (error) {
      job.task?.log(errorText(error));
    }
  }
}

async function createDisk(
  job: DiskJob,
  drive: Drive,
  made: ReadonlyMap<string, string>,
  volumes: string[],
): Promise<Drive> {
  if (drive.file === 'none' || drive.file === 'cdrom') return withOptions(drive, { size: undefined });
  if (/^(?:[^:]+:)?cloudinit$/.test(drive.file)) return createCloudInitDrive(job, drive, made, volumes);
  const requested = newVolumeOf(drive.file);
  if (requested) return createVolume(job, drive, requested, volumes);
  return attachExisting(job, drive, made);
}

async function createCloudInitDrive(
  job: DiskJob,
  drive: Drive,
  made: ReadonlyMap<string, string>,
  volumes: string[],
): Promise<Drive> {
  const storageId = drive.file.includes(':') ? splitVolid(drive.file).storage : job.defaultStorage;
  if (!storageId) throw dieFault('no storage ID specified (and no default storage)');
  refuseSecondCloudInit(job, drive, made);
  const storage = storageConfig(job.runtime.world, storageId);
  const isChain = usesVolumeChain(storage);
  const format = (drive.options.get('format') ?? (storage.path || isChain ? 'qcow2' : 'raw')) as VolumeFormat; // checked by the schema of a drive
  const isSuffixed = storage.path !== undefined || (isChain && format === 'qcow2');
  const name = `vm-${job.vmid}-cloudinit${isSuffixed ? `.${format}` : ''}`;
  const volume = await allocateVolume(job.runtime, {
    node: job.node,
    storageId,
    vmid: job.vmid,
    format,
    name,
    sizeKiB: CLOUD_INIT_SIZE_BYTES / 1024,
    log: (line) => job.task?.log(line),
  });
  volumes.push(volidOf(volume));
  return announced(job, withOptions(drive, { media: 'cdrom', format: undefined }, volidOf(volume)));
}

async function createVolume(
  job: DiskJob,
  drive: Drive,
  requested: { readonly storage: string | undefined; readonly sizeGiB: number },
  volumes: string[],
): Promise<Drive> {
  const storageId = requested.storage ?? job.defaultStorage;
  if (!storageId) throw dieFault('no storage ID specified (and no default storage)');
  const source = drive.options.get('import-from');
  if (source !== undefined) {
    return announced(
      job,
      await importDisk(job, withOptions(drive, { 'import-from': undefined }), storageId, source, volumes),
    );
  }
  const defaultFormat = storageFormats(storageConfig(job.runtime.world, storageId)).default;
  const format = (drive.options.get('format') ?? defaultFormat) as VolumeFormat; // checked by the schema of a drive
  const log = (line: string) => job.task?.log(line);
  const sizeKiB = Math.ceil(newVolumeBytes(drive, requested.sizeGiB) / 1024);
  const volume = await allocateVolume(job.runtime, {
    node: job.node,
    storageId,
    vmid: job.vmid,
    format,
    sizeKiB,
    log,
  });
  if (drive.key === 'efidisk0') for (const line of efiDiskLog(drive.options)) log(line);
  let volid = volidOf(volume);
  // Rule [source QS API2/Qemu.pm create_disks]: a disk added to a template becomes a base volume at once.
  if (isTemplate(job.config)) volid = await convertToBase(job.runtime, { node: job.node, volid, log });
  volumes.push(volid);
  // Rule [source QS API2/Qemu.pm create_disks]: the shown size is the requested one, even if the storage rounds it up;
  // only that of an EFI disk is read from the volume.
  const sizeBytes = drive.key === 'efidisk0' ? volume.sizeBytes : sizeKiB * 1024;
  return announced(job, withOptions(drive, { format: undefined, size: printSize(sizeBytes) }, volid));
}

function newVolumeBytes(drive: Drive, sizeGiB: number): number {
  if (drive.key === 'efidisk0') return efiVarsSizeBytes(drive.options);
  if (drive.key === 'tpmstate0') return TPM_SIZE_BYTES;
  return sizeGiB * 1024 ** 3;
}

function attachExisting(job: DiskJob, drive: Drive, made: ReadonlyMap<string, string>): Drive {
  job.checkVolumeAccess(drive.file);
  // Rule [assumed]: simulated hosts have no block devices to hand out.
  if (drive.file.startsWith('/')) throw dieFault(`volume ${drive.file} does not exist`);
  const { storage: storageId, name } = splitVolid(drive.file);
  const parsed = parseVolumeName(storageConfig(job.runtime.world, storageId), name);
  if (parsed.content !== 'images' && parsed.content !== 'iso') {
    throw dieFault(`cannot use volume ${drive.file} - content type needs to be 'images' or 'iso'`);
  }
  const format = drive.options.get('format');
  if (format !== undefined && format !== parsed.format) {
    throw dieFault(
      `drive '${drive.key}' - volume '${drive.file}' - 'format=${format}' option different from storage format '${parsed.format}'`,
    );
  }
  if (drive.isCloudInit) refuseSecondCloudInit(job, drive, made);
  activateStorage(job.runtime.world, storageId, job.node);
  const volume = findVolume(job.runtime.world, job.node, drive.file);
  if (!volume) throw dieFault(`volume '${drive.file}' does not exist`);
  // Rule [recorded disk-cdrom]: sizes are those of QEMU, which counts whole sectors of 512 bytes.
  return withOptions(drive, { size: printSize(Math.ceil(volume.sizeBytes / 512) * 512) });
}

function refuseSecondCloudInit(job: DiskJob, drive: Drive, made: ReadonlyMap<string, string>): void {
  for (const config of [job.config, job.pending, made]) {
    const existing = cloudInitDriveKey(config, drive.key);
    if (existing) throw dieFault(`${drive.key} - cloud-init drive is already attached at '${existing}'`);
  }
}

function announced(job: DiskJob, drive: Drive): Drive {
  job.task?.log(`${drive.key}: successfully created disk '${printDrive(drive)}'`);
  return drive;
}

export interface DiskJob {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  /** Absent in a synchronous call. */
  readonly task: Task | undefined;
  /** The configuration the drives are for. */
  readonly config: ReadonlyMap<string, string>;
  readonly pending: ReadonlyMap<string, string>;
  readonly defaultStorage: string | undefined;
  /** Refuses a volume the caller may not use. */
  readonly checkVolumeAccess: (volid: string) => void;
}

/** Returns the drive with its new volume; `drive` is its configuration, `volumes` collects the created volumes. */
async function importDisk(
  job: DiskJob,
  drive: Drive,
  storageId: string,
  source: string,
  volumes: string[],
): Promise<Drive> {
  const { runtime, node } = job;
  const split = trySplitVolid(source);
  if (!split) return importFile(job, drive, storageId, source, volumes);
  const storage = storageConfig(runtime.world, split.storage);
  const isUntrusted = parseVolumeName(storage, split.name).content === 'import';
  // Rule [recorded import-from]: a missing import file is noticed when it is examined.
  if (isUntrusted && !findVolume(runtime.world, node, source)) {
    throw dieFault(`failed to stat '${volumePath(storage, split.name)}'`);
  }
  try {
    const copied = await importVolume(job, drive, storageId, source, volumes);
    return withOptions(drive, { format: undefined, size: copied.options.get('size') }, copied.file);
  } catch (error) {
    throw dieFault(`cannot import from '${source}' - ${errorText(error)}`);
  }
}

/**
 * A file of the host, which only root may name. Rule [source QS QemuServer/ImportDisk.pm do_import]: copied as it is,
 * whoever owns it. Rule [assumed]: simulated hosts have no files outside their storages.
 */
async function importFile(
  job: DiskJob,
  drive: Drive,
  storageId: string,
  path: string,
  volumes: string[],
): Promise<Drive> {
  const { runtime, node, task } = job;
  const log = (line: string) => task?.log(line);
  const source = volumeAtPath(runtime.world, node, path);
  if (!source) throw dieFault(`can't find file '${path}'`);
  const formats = storageFormats(storageConfig(runtime.world, storageId));
  const requested = drive.options.get('format');
  const format = formats.supported.find((each) => each === requested) ?? formats.default;
  if (requested !== undefined && requested !== format) {
    log(`format '${requested}' is not supported by the target storage - using '${format}' instead`);
  }
  const sizeBytes = source.virtualSizeBytes ?? source.sizeBytes;
  const sizeKiB = Math.ceil(sizeBytes / 1024);
  const target = await allocateVolume(runtime, { node, storageId, vmid: job.vmid, format, sizeKiB, log });
  volumes.push(volidOf(target));
  await copyVolume(runtime, { node, source, target, task, log });
  const volid = isTemplate(job.config)
    ? await convertToBase(runtime, { node, volid: volidOf(target), log })
    : volidOf(target);
  return withOptions(drive, { format: undefined, size: printSize(sizeBytes) }, volid);
}

/**
 * Rule [source QS API2/Qemu.pm $import_from_volid]: size, kind, owner and feature are checked before the owner is
 * locked.
 */
async function importVolume(
  job: DiskJob,
  drive: Drive,
  storageId: string,
  source: string,
  volumes: string[],
): Promise<Drive> {
  const { runtime, node } = job;
  const { storage: sourceId, name } = splitVolid(source);
  const storage = storageConfig(runtime.world, sourceId);
  if (!findVolume(runtime.world, node, source)) {
    if (isFileBased(storage)) job.task?.log(`failed to stat '${volumePath(storage, name)}'`);
    throw dieFault(`could not get size of ${source}`);
  }
  if (isCloudInitFile(source)) throw dieFault('cannot import from cloudinit disk');
  const owner = parseVolumeName(storage, name).vmid;
  const state = ownerState(runtime, node, owner);
  if (!hasFeature(runtime.world, node, 'copy', source, { running: state === 'running' })) {
    throw dieFault(`cannot import from '${source}' - full clone feature is not supported`);
  }
  const clone = () => {
    if (ownerState(runtime, node, owner) !== state) throw dieFault(`owner VM ${owner} changed state unexpectedly`);
    const vm = owner === undefined ? undefined : findVm(runtime.world, node, owner);
    const used = vm && drivesOf(vm.config.current).find((candidate) => candidate.file === source);
    return cloneDisk(runtime, {
      node,
      source: { key: used?.key, drive: used ?? makeDrive(drive.key, source, new Map()), vmid: owner },
      target: {
        vmid: job.vmid,
        key: drive.key,
        storage: storageId,
        format: drive.options.get('format') as VolumeFormat | undefined, // the schema admits formats of images only
        efiSizeBytes: efiVarsSizeBytes(drive.options),
      },
      full: true,
      task: job.task,
      created: volumes,
    });
  };
  if (owner === undefined || owner === job.vmid) return clone();
  const mode = state === 'running' ? 'exclusive' : 'shared';
  return withVmLock(runtime, node, owner, { mode, waitMs: 30_000, task: job.task }, clone);
}

function ownerState(runtime: Runtime, node: string, owner: number | undefined): 'none' | 'stopped' | 'running' {
  if (owner === undefined || !runtime.world.vms.has(owner)) return 'none';
  const vm = findVm(runtime.world, node, owner);
  if (!vm) throw dieFault(`owner VM ${owner} not on local node`);
  return vm.process ? 'running' : 'stopped';
}
