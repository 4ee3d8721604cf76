/** Copies one drive for another VM or another storage: the step that clone, move and import-from have in common. */
import { printSize } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import { allocateVolume } from '../storage/allocate.ts';
import { linkedClone } from '../storage/clone.ts';
import { copyVolume } from '../storage/copy.ts';
import { findVolume, splitVolid, storageConfig, storageFormats, volidOf } from '../storage/volumes.ts';
import type { Volume, VolumeFormat } from '../world/world.ts';
import { type Drive, withOptions } from './drive.ts';
import { efiVarsSizeBytes } from './firmware.ts';

/** Rule [source QS QemuServer/Cloudinit.pm CLOUDINIT_DISK_SIZE]. */
export const CLOUD_INIT_SIZE_BYTES = 4 * 1024 * 1024;
/** Rule [source QS QemuServer/Drive.pm TPMSTATE_DISK_SIZE]. */
export const TPM_SIZE_BYTES = 4 * 1024 * 1024;

export interface CloneDiskInput {
  readonly node: string;
  /** The source drive; its key is undefined for an image that belongs to no drive. */
  readonly source: { readonly key: string | undefined; readonly drive: Drive; readonly snapshot?: string | undefined };
  readonly target: {
    readonly vmid: number;
    readonly key: string;
    readonly storage?: string | undefined;
    readonly format?: VolumeFormat | undefined;
  };
  readonly full: boolean;
  readonly bwlimitKiB?: number | undefined;
  /** Absent in a synchronous call, whose output nobody sees. */
  readonly task: Task | undefined;
  /** New volumes are added here as soon as they exist, so that a failure can free them. */
  readonly created: string[];
}

/** Rule [source QS QemuServer.pm clone_disk]. */
export async function cloneDisk(runtime: Runtime, input: CloneDiskInput): Promise<Drive> {
  const { source, target, node } = input;
  const log = (line: string) => input.task?.log(line);
  log(
    `create ${input.full ? 'full' : 'linked'} clone of drive ${source.key ? `${source.key} ` : ''}(${source.drive.file})`,
  );
  const volume = input.full
    ? await fullCopy(runtime, input, log)
    : await linkedClone(runtime, {
        node,
        volid: source.drive.file,
        newVmid: target.vmid,
        ...(source.snapshot !== undefined && { snapshot: source.snapshot }),
        log,
      });
  if (!input.full) input.created.push(volidOf(volume));
  const isUnused = source.key?.startsWith('unused') ?? false;
  const size = isUnused ? source.drive.options.get('size') : printSize(volume.sizeBytes);
  return withOptions(source.drive, { format: undefined, size }, volidOf(volume));
}

async function fullCopy(runtime: Runtime, input: CloneDiskInput, log: (line: string) => void): Promise<Volume> {
  const { source, target, node } = input;
  const storageId = target.storage ?? splitVolid(source.drive.file).storage;
  const storage = storageConfig(runtime.world, storageId);
  const original = findVolume(runtime.world, node, source.drive.file);
  if (!original) throw dieFault(`volume '${source.drive.file}' does not exist`);
  const format = targetFormat(runtime, storageId, target.format ?? original.format);
  if (target.format !== undefined && target.format !== format) {
    log(`format '${target.format}' is not supported by the target storage '${storageId}' - using '${format}' instead`);
  }
  const sizeBytes = source.drive.isCloudInit
    ? CLOUD_INIT_SIZE_BYTES
    : target.key === 'efidisk0'
      ? efiVarsSizeBytes(source.drive.options)
      : target.key === 'tpmstate0'
        ? TPM_SIZE_BYTES
        : (original.virtualSizeBytes ?? original.sizeBytes);
  const cloudInitName = `vm-${target.vmid}-cloudinit${storage.path ? `.${format}` : ''}`;
  const volume = await allocateVolume(runtime, {
    node,
    storageId,
    vmid: target.vmid,
    format,
    ...(source.drive.isCloudInit && { name: cloudInitName }),
    sizeKiB: Math.ceil(sizeBytes / 1024),
    log,
  });
  input.created.push(volidOf(volume));
  log(`allocated target volume '${volidOf(volume)}'`);
  // Rule [source QS QemuServer.pm clone_disk]: a cloud-init drive is made anew, its content is not copied.
  if (!source.drive.isCloudInit) {
    await copyVolume(runtime, {
      node,
      source: original,
      ...(source.snapshot !== undefined && { snapshot: source.snapshot }),
      target: volume,
      ...(input.bwlimitKiB !== undefined && { bwlimitKiB: input.bwlimitKiB }),
      task: input.task,
      log,
      // Rule [source QS QemuServer.pm clone_disk_copy_data]: EFI variables are copied by `qemu-img dd`.
      ...(target.key === 'efidisk0' && { tool: 'dd' as const }),
    });
  }
  return volume;
}

/** Rule [source ST Storage.pm resolve_format_hint]: a format the storage does not know gives way to its default. */
function targetFormat(runtime: Runtime, storageId: string, wanted: VolumeFormat): VolumeFormat {
  const formats = storageFormats(storageConfig(runtime.world, storageId));
  return formats.supported.includes(wanted) ? wanted : formats.default;
}
