/** `import-from`: a new disk made from an image of the import folder or from a disk of another VM. */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import { hasFeature } from '../storage/features.ts';
import { isFileBased, trySplitVolid } from '../storage/names.ts';
import { findVolume, parseVolumeName, splitVolid, storageConfig, volumePath } from '../storage/volumes.ts';
import type { VolumeFormat } from '../world/world.ts';
import { cloneDisk } from './clone-disk.ts';
import { findVm } from './config-file.ts';
import type { DiskJob } from './disk-job.ts';
import { type Drive, drivesOf, isCloudInitFile, makeDrive, withOptions } from './drive.ts';
import { errorText } from './error-text.ts';
import { efiVarsSizeBytes } from './firmware.ts';
import { withVmLock } from './locking.ts';

/** Answers the drive with its new volume; `drive` says how it is to be configured, `volumes` collects what was made. */
export async function importDisk(
  job: DiskJob,
  drive: Drive,
  storageId: string,
  source: string,
  volumes: string[],
): Promise<Drive> {
  const { runtime, node } = job;
  const split = trySplitVolid(source);
  // Rule [assumed]: simulated hosts have no files outside their storages.
  if (!split) throw dieFault(`can't find file '${source}'`);
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

/** Rule [source QS API2/Qemu.pm $import_from_volid]: size, kind, owner and feature are looked at before the owner is locked. */
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
