/**
 * Turns the drive parameters of a create or update into real volumes: allocates new ones, makes cloud-init drives, imports
 * images, checks existing volumes. Mirrors `create_disks`.
 */
import { printSize } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import { allocateVolume, freeVolume } from '../storage/allocate.ts';
import { convertToBase } from '../storage/clone.ts';
import { hasFeature } from '../storage/features.ts';
import {
  findVolume,
  parseVolumeName,
  splitVolid,
  storageConfig,
  storageFormats,
  volidOf,
  volumePath,
} from '../storage/volumes.ts';
import type { VolumeFormat } from '../world/world.ts';
import { CLOUD_INIT_SIZE_BYTES, cloneDisk, TPM_SIZE_BYTES } from './clone-disk.ts';
import { cloudInitDriveKey, findVm, isTemplate } from './config-file.ts';
import { isDriveKey } from './config-keys.ts';
import { type Drive, makeDrive, newVolumeOf, parseDrive, printDrive, withOptions } from './drive.ts';
import { efiDiskLog, efiVarsSizeBytes } from './firmware.ts';
import { withVmLock } from './locking.ts';

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

export interface CreatedDisks {
  /** Drive key → final property string. */
  readonly values: Map<string, string>;
  /** Volumes made on the way; to be freed if a later step fails. */
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
    await freeVolumes(job, volumes);
    throw error;
  }
  return { values, volumes };
}

export async function freeVolumes(job: DiskJob, volumes: readonly string[]): Promise<void> {
  for (const volid of volumes) {
    await freeVolume(job.runtime, { node: job.node, volid, log: () => {} });
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
  const wanted = newVolumeOf(drive.file);
  if (wanted) return createVolume(job, drive, wanted, volumes);
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
  const format = (drive.options.get('format') ?? (storage.path ? 'qcow2' : 'raw')) as VolumeFormat;
  const name = `vm-${job.vmid}-cloudinit${storage.path ? `.${format}` : ''}`;
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
  wanted: { readonly storage: string | undefined; readonly sizeGiB: number },
  volumes: string[],
): Promise<Drive> {
  const storageId = wanted.storage ?? job.defaultStorage;
  if (!storageId) throw dieFault('no storage ID specified (and no default storage)');
  const source = drive.options.get('import-from');
  if (source !== undefined) {
    return announced(
      job,
      await importDisk(job, withOptions(drive, { 'import-from': undefined }), storageId, source, volumes),
    );
  }
  const defaultFormat = storageFormats(storageConfig(job.runtime.world, storageId)).default;
  const format = (drive.options.get('format') ?? defaultFormat) as VolumeFormat;
  const volume = await allocateVolume(job.runtime, {
    node: job.node,
    storageId,
    vmid: job.vmid,
    format,
    sizeKiB: Math.ceil(newVolumeBytes(drive, wanted.sizeGiB) / 1024),
    log: (line) => job.task?.log(line),
  });
  if (drive.key === 'efidisk0') for (const line of efiDiskLog(drive.options)) job.task?.log(line);
  let volid = volidOf(volume);
  // Rule [source QS API2/Qemu.pm create_disks]: a disk added to a template becomes a base volume at once.
  if (isTemplate(job.config)) volid = await convertToBase(job.runtime, { node: job.node, volid, log: () => {} });
  volumes.push(volid);
  return announced(job, withOptions(drive, { format: undefined, size: printSize(volume.sizeBytes) }, volid));
}

function newVolumeBytes(drive: Drive, sizeGiB: number): number {
  if (drive.key === 'efidisk0') return efiVarsSizeBytes(drive.options);
  if (drive.key === 'tpmstate0') return TPM_SIZE_BYTES;
  return sizeGiB * 1024 ** 3;
}

/** Rule [source QS API2/Qemu.pm $import_from_volid]. */
async function importDisk(
  job: DiskJob,
  drive: Drive,
  storageId: string,
  source: string,
  volumes: string[],
): Promise<Drive> {
  const { runtime, node } = job;
  const { storage: sourceStorage, name } = splitVolid(source);
  const parsed = parseVolumeName(storageConfig(runtime.world, sourceStorage), name);
  const volume = findVolume(runtime.world, node, source);
  // Rule [recorded import-from]: a missing import file is noticed when its size is read.
  if (!volume && parsed.content === 'import') {
    throw dieFault(`failed to stat '${volumePath(storageConfig(runtime.world, sourceStorage), name)}'`);
  }
  const clone = async () => {
    if (!volume) throw dieFault(`could not get size of ${source}`);
    if (!hasFeature(runtime.world, node, 'copy', source, {})) {
      throw dieFault(`cannot import from '${source}' - full clone feature is not supported`);
    }
    return cloneDisk(runtime, {
      node,
      source: { key: sourceKey, drive: sourceDrive },
      target: {
        vmid: job.vmid,
        key: drive.key,
        storage: storageId,
        format: drive.options.get('format') as VolumeFormat | undefined,
      },
      full: true,
      task: job.task,
      created: volumes,
    });
  };
  const owner = parsed.vmid === undefined ? undefined : findVm(runtime.world, node, parsed.vmid);
  const sourceDrive = makeDrive(drive.key, source, new Map());
  const sourceKey =
    owner &&
    [...owner.config.current].find(([key, value]) => isDriveKey(key) && parseDrive(key, value)?.file === source)?.[0];
  try {
    const copied =
      parsed.vmid !== undefined && parsed.vmid !== job.vmid
        ? await withVmLock(
            runtime,
            node,
            parsed.vmid,
            { mode: owner?.process ? 'exclusive' : 'shared', waitMs: 30_000 },
            clone,
          )
        : await clone();
    return withOptions(drive, { format: undefined, size: copied.options.get('size') }, copied.file);
  } catch (error) {
    throw prefixed(error, `cannot import from '${source}' - `);
  }
}

function attachExisting(job: DiskJob, drive: Drive, made: ReadonlyMap<string, string>): Drive {
  job.checkVolumeAccess(drive.file);
  // A device path of the host: nothing of ours to look up.
  if (drive.file.startsWith('/')) return drive;
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

function prefixed(error: unknown, prefix: string): Error {
  return error instanceof Error
    ? dieFault(`${prefix}${error.message.trimEnd()}`)
    : dieFault(`${prefix}${String(error)}`);
}
