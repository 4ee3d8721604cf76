/** EFI firmware: the templates of variable stores and their size, and its behaviour without a boot device. */
import type { Instant } from '../../../base/clock.ts';
import type { QemuProcess } from '../../world/world.ts';
import { type Drive, withOptions } from './drive.ts';

/** Rule [recorded disk-efi-tpm]: 528 KiB for the 4m store, 128 KiB for the legacy one, whatever size was requested. */
const SIZE_4M_BYTES = 540_672;
const SIZE_LEGACY_BYTES = 131_072;

export function efiVarsSizeBytes(options: ReadonlyMap<string, string>): number {
  return options.get('efitype') === '4m' ? SIZE_4M_BYTES : SIZE_LEGACY_BYTES;
}

/**
 * Rule [recorded disk-efi-tpm]: the chatter of making an EFI disk; with pre-enrolled keys the firmware tool reports what
 * it reads. The paths are those of Proxmox's firmware package.
 */
export function efiDiskLog(options: ReadonlyMap<string, string>): string[] {
  const size = options.get('efitype') === '4m' ? '528.0 KiB' : '128.0 KiB';
  const lines = [
    `transferred 0.0 B of ${size} (0.00%)`,
    `transferred ${size} of ${size} (100.00%)`,
    `transferred ${size} of ${size} (100.00%)`,
  ];
  if (options.get('pre-enrolled-keys') !== '1') return lines;
  const file = options.get('efitype') === '4m' ? 'OVMF_VARS_4M.ms.fd' : 'OVMF_VARS.fd';
  return [
    ...lines,
    `INFO: reading raw edk2 varstore from /usr/share/pve-edk2-firmware//${file}`,
    'INFO: var store range: 0x64 -> 0x40000',
  ];
}

/**
 * Rule [source QS QemuServer/OVMF.pm drive_change]: marking the same EFI disk as having the certificates of 2023 enrols
 * them — where keys were enrolled at all; without those the marker is dropped again.
 */
export function changedEfiDisk(before: Drive, after: Drive, log: (line: string) => void): Drive {
  const marker = after.options.get('ms-cert');
  if (before.file !== after.file || before.options.get('ms-cert') === marker || !marker?.startsWith('2023'))
    return after;
  if (after.options.get('pre-enrolled-keys') !== '1') return withOptions(after, { 'ms-cert': undefined });
  log('efidisk0: enrolling Microsoft UEFI CA 2023');
  return withOptions(after, { 'ms-cert': '2023k' });
}

/**
 * A machine without an operating system: its firmware looks for one, gives up and resets, repeatedly. Devices that
 * should be unplugged leave at such a reset, without a guest's help. Rule [recorded run-unplug]: about 4 s a round
 * under software emulation; waiting for an answer from the network adds more.
 */
const ROUND_MS = 4_000;
const NETWORK_BOOT_MS = 9_000;

const ejections = new WeakMap<QemuProcess, Map<string, Instant>>();

/** When a device with a pending unplug request will be gone; undefined if never. */
export function ejectionAt(process: QemuProcess, device: string, now: Instant): Instant | undefined {
  if (process.guest !== undefined || process.qmpStatus !== 'running') return undefined;
  const asked = ejections.get(process) ?? new Map<string, Instant>();
  ejections.set(process, asked);
  const known = asked.get(device);
  if (known !== undefined) return known;
  const roundMs = ROUND_MS + (bootsFromNetwork(process.launched) ? NETWORK_BOOT_MS : 0);
  const rounds = Math.floor((now - process.guestBootedAt) / roundMs) + 1;
  const at = process.guestBootedAt + rounds * roundMs;
  asked.set(device, at);
  return at;
}

/** The device is gone; another one of the same name may be plugged in. */
export function forgetEjection(process: QemuProcess, device: string): void {
  ejections.get(process)?.delete(device);
}

function bootsFromNetwork(config: ReadonlyMap<string, string>): boolean {
  const boot = config.get('boot');
  if (boot?.startsWith('order=')) return /\bnet\d/.test(boot);
  const isLegacyNetwork = boot === undefined || /^(?:legacy=)?[acdn]*n/.test(boot);
  return isLegacyNetwork && [...config.keys()].some((key) => /^net\d+$/.test(key));
}
