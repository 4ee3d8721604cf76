/** What QEMU's image tool says and leaves behind when it makes an image file; command lines as Proxmox quotes them. */
import { dieFault } from '../http/response.ts';
import type { Storage } from '../world/world.ts';

/** Rule [recorded storage-content]: a new raw file has its first block allocated, a new qcow2 file its tables. */
const RAW_USED_BYTES = 4096;
const CLUSTER_BYTES = 65_536;
const QCOW2_L2_COVERS_BYTES = 512 * 1024 ** 2;

/** Room a fresh, empty image takes. */
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

export interface BackedImage {
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
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w!%+,\-./:@^]+$/.test(word) ? word : `'${word}'`)).join(' ');
}

/** Rule [source PC Cmd.pm run]: how a failed command is reported. */
export function commandFailure(words: readonly string[], reason: string): Error {
  return dieFault(`command '${commandLine(words)}' failed: ${reason}`);
}
