/** The copying tool as Proxmox calls it: its command line and the progress it prints. */
import type { Storage, Volume } from '../world/world.ts';
import { parseVolumeName } from './names.ts';
import { usesVolumeChain, volumePath } from './paths.ts';

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

export interface ProgressStep {
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

function progressLine(sizeBytes: number, percent: number): string {
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
