/**
 * QEMU's image tool: what it prints and leaves behind when it creates or converts an image file, and command lines as Proxmox
 * quotes them.
 */
import { dieFault } from '../http/response.ts';
import type { Storage, Volume } from '../world/world.ts';
import { parseVolumeName } from './names.ts';
import { usesVolumeChain, volumePath } from './paths.ts';

/** Rule [recorded storage-content]: a new raw file has its first block allocated, a new qcow2 file its tables. */
const RAW_USED_BYTES = 4096;
const CLUSTER_BYTES = 65_536;
const QCOW2_L2_COVERS_BYTES = 512 * 1024 ** 2;

/** The space of a new, empty image. */
export function emptyImageBytes(format: string, sizeBytes: number, preallocation: string | undefined): number {
  if (preallocation === 'falloc' || preallocation === 'full') return sizeBytes;
  if (format === 'qcow2') {
    const tables = 3 + Math.max(1, Math.ceil(sizeBytes / QCOW2_L2_COVERS_BYTES));
    return RAW_USED_BYTES + tables * CLUSTER_BYTES;
  }
  return Math.min(RAW_USED_BYTES, sizeBytes);
}

/** Rule [source ST Storage/Plugin.pm preallocation_cmd_opt]: metadata for qcow2, off for raw, nothing for others. */
export function preallocationOf(storage: Storage, format: string): string | undefined {
  const configured = storage.options.get('preallocation');
  if (format === 'qcow2') return configured ?? 'metadata';
  if (format !== 'raw') return undefined;
  return configured === undefined || configured === 'metadata' ? 'off' : configured;
}

/** Rule [recorded create-full, template-convert]: the line QEMU prints for each new image. */
export function formattingLine(path: string, format: string, sizeBytes: number, preallocation?: string): string {
  switch (format) {
    case 'qcow2':
      return (
        `Formatting '${path}', fmt=qcow2 cluster_size=65536 extended_l2=off preallocation=${preallocation} ` +
        `compression_type=zlib size=${sizeBytes} lazy_refcounts=off refcount_bits=16`
      );
    // Rule [assumed]: the same line with the options of that format.
    case 'vmdk':
      return `Formatting '${path}', fmt=vmdk size=${sizeBytes} compat6=off hwversion=undefined`;
    default:
      return `Formatting '${path}', fmt=raw size=${sizeBytes} preallocation=${preallocation}`;
  }
}

interface BackedImage {
  readonly path: string;
  readonly sizeBytes: number;
  /** Relative path of the base and its format. */
  readonly backing: string;
  readonly backingFormat: string;
  readonly preallocation: string | undefined;
}

/** Rule [recorded clone-linked]: the preallocation is that of the base's format, the clusters are larger. */
export function backedFormattingLine(image: BackedImage): string {
  const preallocation = image.preallocation === undefined ? '' : ` preallocation=${image.preallocation}`;
  return (
    `Formatting '${image.path}', fmt=qcow2 cluster_size=131072 extended_l2=on${preallocation} ` +
    `compression_type=zlib size=${image.sizeBytes} backing_file=${image.backing} backing_fmt=${image.backingFormat} ` +
    'lazy_refcounts=off refcount_bits=16'
  );
}

/** Rule [recorded template-convert]: words with characters beyond these are quoted when a command line is shown. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w!%+,\-./:@^]+$/.test(word) ? word : `'${word}'`)).join(' ');
}

/** Rule [source PC Cmd.pm run]: how a failed command is reported. */
export function commandFailure(words: readonly string[], reason: string): Error {
  return dieFault(`command '${commandLine(words)}' failed: ${reason}`);
}

export interface ConvertCommand {
  readonly source: { readonly storage: Storage; readonly volume: Volume };
  readonly target: { readonly storage: Storage; readonly volume: Volume };
  readonly snapshot: string | undefined;
  readonly bwlimitKiB: number | undefined;
  readonly isZeroInitialized: boolean;
}

/** Rule [source QS QemuServer/QemuImage.pm convert]: shown in full when the copy fails. */
export function convertCommand({ source, target, snapshot, bwlimitKiB, isZeroInitialized }: ConvertCommand): string[] {
  const sourceFormat = parseVolumeName(source.storage, source.volume.name).format;
  const targetFormat = parseVolumeName(target.storage, target.volume.name).format;
  const isInternalSnapshot = snapshot !== undefined && sourceFormat === 'qcow2' && !usesVolumeChain(source.storage);
  const targetPath = volumePath(target.storage, target.volume.name);
  return [
    '/usr/bin/qemu-img',
    'convert',
    '-p',
    '-n',
    ...(isInternalSnapshot ? ['-l', `snapshot.name=${snapshot}`] : []),
    ...(target.storage.type === 'zfspool' ? ['-t', 'none'] : []),
    ...(source.storage.type === 'zfspool' ? ['-T', 'none'] : []),
    ...(bwlimitKiB === undefined ? [] : ['-r', `${bwlimitKiB}K`]),
    '-f',
    sourceFormat,
    '-O',
    targetFormat,
    volumePath(source.storage, source.volume.name, snapshot),
    isZeroInitialized ? `zeroinit:${targetPath}` : targetPath,
  ];
}

/** Rule [source QS QemuServer.pm clone_disk_copy_data]: an EFI disk is copied block by block, without progress. */
export function ddCommand(command: ConvertCommand): string[] {
  const { source, target, snapshot } = command;
  return [
    'qemu-img',
    'dd',
    '-n',
    '-f',
    parseVolumeName(source.storage, source.volume.name).format,
    '-O',
    parseVolumeName(target.storage, target.volume.name).format,
    ...(snapshot !== undefined && source.volume.format === 'qcow2' ? ['-l', snapshot] : []),
    'bs=1048576',
    `osize=${target.volume.sizeBytes}`,
    `if=${volumePath(source.storage, source.volume.name, snapshot)}`,
    `of=${volumePath(target.storage, target.volume.name)}`,
  ];
}

/** Rule [recorded clone-no-space]: copied in pieces of 2 MiB, the next eight of which are already taken up. */
export const CHUNK_BYTES = 2 * 1024 ** 2;
const CHUNKS_IN_FLIGHT = 8;

interface ProgressStep {
  /** Printed once this much has been written. */
  readonly afterBytes: number;
  readonly line: string;
}

/**
 * Rule [recorded clone-full-same-storage]: a line whenever more than one per cent has been added since the last one, so
 * never more than about a hundred; percentages are those of the data, shown as a part of the whole size.
 */
export function progressSteps(sizeBytes: number, dataBytes: number): ProgressStep[] {
  const steps: ProgressStep[] = [{ afterBytes: 0, line: progressLine(sizeBytes, 0) }];
  const chunks = Math.ceil(dataBytes / CHUNK_BYTES);
  const percentAt = (chunk: number) => (100 * Math.min(dataBytes, chunk * CHUNK_BYTES)) / dataBytes;
  for (let printed = 0, chunk = 0; chunk < chunks; ) {
    chunk = Math.min(chunks, Math.floor(((printed + 1) * dataBytes) / 100 / CHUNK_BYTES) + 1);
    printed = percentAt(chunk);
    steps.push({
      afterBytes: Math.max(0, (chunk - CHUNKS_IN_FLIGHT) * CHUNK_BYTES),
      line: progressLine(sizeBytes, printed),
    });
  }
  steps.push({ afterBytes: dataBytes, line: progressLine(sizeBytes, 100) });
  return steps;
}

export function progressLine(sizeBytes: number, percent: number): string {
  const shown = percent.toFixed(2);
  const transferred = Math.trunc((sizeBytes * Number(shown)) / 100);
  return `transferred ${renderBytes(transferred)} of ${renderBytes(sizeBytes)} (${shown}%)`;
}

/** Rule [source PC Format.pm render_bytes]: one decimal, the largest unit that fits. */
export function renderBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}
