/** Copies one drive for another VM or another storage: the step that clone, move and import-from have in common. */
import { printSize } from '../../../pve/wire/index.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';
import { allocateVolume } from '../../storage/allocate.ts';
import { linkedClone } from '../../storage/clone.ts';
import { copyVolume } from '../../storage/copy.ts';
import { findVolume, splitVolid, storageConfig, storageFormats, volidOf } from '../../storage/volumes.ts';
import type { QemuProcess, Vm, Volume, VolumeFormat } from '../../world/world.ts';
import { type Drive, withOptions } from './drive.ts';
import { efiVarsSizeBytes } from './firmware.ts';
import { finishMirrors, type MirrorJobs, mirrorVolume } from './mirror.ts';

/** Rule [source QS QemuServer/Cloudinit.pm CLOUDINIT_DISK_SIZE]. */
export const CLOUD_INIT_SIZE_BYTES = 4 * 1024 * 1024;
/** Rule [source QS QemuServer/Drive.pm TPMSTATE_DISK_SIZE]. */
export const TPM_SIZE_BYTES = 4 * 1024 * 1024;

export interface CloneDiskInput {
  readonly node: string;
  /** The source drive; its key is undefined for an image that belongs to no drive. */
  readonly source: {
    readonly key: string | undefined;
    readonly drive: Drive;
    readonly snapshot?: string | undefined;
    /** The owner of the drive; by default the target VM. */
    readonly vmid?: number | undefined;
  };
  readonly target: {
    readonly vmid: number;
    readonly key: string;
    readonly storage?: string | undefined;
    readonly format?: VolumeFormat | undefined;
    /** Of an EFI disk, if it differs from the source. */
    readonly efiSizeBytes?: number | undefined;
  };
  readonly full: boolean;
  readonly bwlimitKiB?: number | undefined;
  /** Absent in a synchronous call, whose output is not shown. */
  readonly task: Task | undefined;
  /** New volumes are added here as soon as they exist, so that a failure can free them. */
  readonly created: string[];
  /** Of a copy with several drives: jobs of the earlier ones, and whether this is the last. */
  readonly mirror?: { readonly jobs: MirrorJobs; readonly completion: 'skip' | 'complete' };
}

/** Rule [source QS QemuServer.pm clone_disk]. */
export async function cloneDisk(runtime: Runtime, input: CloneDiskInput): Promise<Drive> {
  const { source, target, node } = input;
  const log = (line: string) => input.task?.log(line);
  const running = mirrorSource(runtime, input);
  refuseOtherKind(input, running);
  log(
    `create ${input.full ? 'full' : 'linked'} clone of drive ${source.key ? `${source.key} ` : ''}(${source.drive.file})`,
  );
  const volume = input.full
    ? await fullCopy(runtime, input, running, log)
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

interface RunningSource {
  readonly vm: Vm;
  readonly process: QemuProcess;
}

/** Rule [source QS QemuServer.pm clone_disk]: a drive of a running VM is mirrored by QEMU; a snapshot of it is not. */
function mirrorSource(runtime: Runtime, { full, source, target }: CloneDiskInput): RunningSource | undefined {
  if (!full || source.key === undefined || source.key.startsWith('unused') || source.snapshot !== undefined) return;
  const vm = runtime.world.vms.get(source.vmid ?? target.vmid);
  return vm?.process && { vm, process: vm.process };
}

/** Rule [source QS QemuServer.pm clone_disk]: EFI disks and TPM states stay what they are. */
function refuseOtherKind({ source, target }: CloneDiskInput, running: RunningSource | undefined): void {
  const keys = [source.key, target.key];
  if (source.key !== undefined && source.key !== target.key) {
    if (keys.includes('efidisk0')) throw dieFault('cloning from/to EFI disk requires EFI disk');
    if (keys.includes('tpmstate0')) throw dieFault('cloning from/to TPM state requires TPM state');
    if (running?.vm.vmid === target.vmid) {
      throw dieFault('cannot change drive name when cloning disk from/to the same VM');
    }
  }
  if (running && source.key === 'tpmstate0') throw dieFault('cannot move TPM state while VM is running');
}

async function fullCopy(
  runtime: Runtime,
  input: CloneDiskInput,
  running: RunningSource | undefined,
  log: (line: string) => void,
): Promise<Volume> {
  const { source, target, node } = input;
  const storageId = target.storage ?? splitVolid(source.drive.file).storage;
  const original = findVolume(runtime.world, node, source.drive.file);
  if (!original) throw dieFault(`volume '${source.drive.file}' does not exist`);
  const format = targetFormat(runtime, storageId, target.format ?? original.format);
  if (target.format !== undefined && target.format !== format) {
    log(`format '${target.format}' is not supported by the target storage '${storageId}' - using '${format}' instead`);
  }
  const { path } = storageConfig(runtime.world, storageId);
  const cloudInitName = `vm-${target.vmid}-cloudinit${path ? `.${format}` : ''}`;
  const volume = await allocateVolume(runtime, {
    node,
    storageId,
    vmid: target.vmid,
    format,
    ...(source.drive.isCloudInit && { name: cloudInitName }),
    sizeKiB: Math.ceil(targetBytes(input, original) / 1024),
    log,
  });
  input.created.push(volidOf(volume));
  log(`allocated target volume '${volidOf(volume)}'`);
  await fill(runtime, input, running, original, volume);
  return volume;
}

function targetBytes({ source, target }: CloneDiskInput, original: Volume): number {
  if (source.drive.isCloudInit) return CLOUD_INIT_SIZE_BYTES;
  if (target.key === 'efidisk0') return target.efiSizeBytes ?? efiVarsSizeBytes(source.drive.options);
  if (target.key === 'tpmstate0') return TPM_SIZE_BYTES;
  return original.virtualSizeBytes ?? original.sizeBytes;
}

async function fill(
  runtime: Runtime,
  input: CloneDiskInput,
  running: RunningSource | undefined,
  original: Volume,
  volume: Volume,
): Promise<void> {
  const { source, target, node, task, bwlimitKiB } = input;
  const log = (line: string) => task?.log(line);
  const { jobs, completion } = input.mirror ?? { jobs: new Set<string>(), completion: 'complete' as const };
  const finish = running && {
    runtime,
    process: running.process,
    completion,
    isForOtherVm: running.vm.vmid !== target.vmid,
    agent: running.vm.config.current.get('agent'),
    log,
  };
  if (source.drive.isCloudInit) {
    // Rule [source QS QemuServer.pm clone_disk]: a cloud-init drive is created again, its content is not copied; as the last
    // drive it still has to end the mirroring of the others.
    if (finish && completion === 'complete' && jobs.size > 0) await finishMirrors(jobs, finish);
  } else if (running && finish && source.key !== undefined) {
    const { process } = running;
    const job = { node, process, key: source.key, source: original, target: volume, bwlimitKiB, task, log };
    await mirrorVolume(runtime, { ...job, jobs, finish });
  } else {
    await copyVolume(runtime, {
      node,
      source: original,
      ...(source.snapshot !== undefined && { snapshot: source.snapshot }),
      target: volume,
      ...(bwlimitKiB !== undefined && { bwlimitKiB }),
      task,
      log,
      // Rule [source QS QemuServer.pm clone_disk_copy_data]: EFI variables are copied by `qemu-img dd`.
      ...(target.key === 'efidisk0' && { tool: 'dd' as const }),
    });
  }
}

/** Rule [source ST Storage.pm resolve_format_hint]: a format the storage does not know gives way to its default. */
function targetFormat(runtime: Runtime, storageId: string, requested: VolumeFormat): VolumeFormat {
  const formats = storageFormats(storageConfig(runtime.world, storageId));
  return formats.supported.includes(requested) ? requested : formats.default;
}
