/** Drives of a VM: their property strings, what they are (disk, CD, cloud-init), and the boot order that lists them. */
import {
  formatOfKey,
  PropertyValue,
  parseProperty,
  parseSize,
  printProperty,
  requiredFormat,
  splitProperty,
} from '../../../pve/wire/index.ts';
import { splitList } from '../../schema/perl-text.ts';
import { BOOT_DRIVE_KEYS, isDriveKey, isUnusedKey } from '../config/config-keys.ts';

export { isDriveKey };

export interface Drive {
  readonly key: string;
  readonly file: string;
  /** Everything but the file. */
  readonly options: ReadonlyMap<string, string>;
  readonly isCdrom: boolean;
  readonly isCloudInit: boolean;
}

/** Rule [source QS QemuServer/Drive.pm NEW_DISK_RE]: `storage:SIZE` or `SIZE`, in GiB. */
const NEW_VOLUME = /^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$/;

export function newVolumeOf(
  file: string,
): { readonly storage: string | undefined; readonly sizeGiB: number } | undefined {
  const match = NEW_VOLUME.exec(file);
  return match ? { storage: match[1], sizeGiB: Number(match[2]) } : undefined;
}

/** Undefined if Proxmox says "unable to parse drive options". */
export function parseDrive(key: string, text: string): Drive | undefined {
  const format = formatOfKey(key);
  if (!format) return undefined;
  const parsed = parseProperty(format, text);
  if (!parsed.ok) return undefined;
  const options = new Map(parsed.value.entries);
  const file = options.get('file');
  if (file === undefined) return undefined;
  options.delete('file');
  if (!convertByteLimits(options) || hasContradiction(key, options)) return undefined;
  const size = options.get('size');
  if (size !== undefined && parseSize(size) === undefined) return undefined;
  return makeDrive(key, file, options);
}

export function makeDrive(key: string, file: string, options: ReadonlyMap<string, string>): Drive {
  return { key, file, options, isCdrom: options.get('media') === 'cdrom', isCloudInit: isCloudInitFile(file) };
}

export function withOptions(
  drive: Drive,
  changes: Readonly<Record<string, string | undefined>>,
  file = drive.file,
): Drive {
  const options = new Map(drive.options);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) options.delete(name);
    else options.set(name, value);
  }
  return makeDrive(drive.key, file, options);
}

export function printDrive(drive: Drive): string {
  const format = requiredFormat(drive.key);
  return printProperty(format, new PropertyValue([['file', drive.file], ...drive.options]));
}

/** Rule [source QS QemuServer/Drive.pm drive_is_cloudinit]. */
export function isCloudInitFile(file: string): boolean {
  return /[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow|qed|qcow2|vmdk|cloop))?$/.test(file);
}

/** A CD-ROM that is not the cloud-init drive. */
export function isPlainCdrom(drive: Drive): boolean {
  return drive.isCdrom && !drive.isCloudInit;
}

/** All drives of a configuration sorted by key, without `unusedN` unless requested. */
export function drivesOf(config: ReadonlyMap<string, string>, options: { unused?: boolean } = {}): Drive[] {
  const drives: Drive[] = [];
  for (const key of [...config.keys()].sort()) {
    if (!isDriveKey(key) && !(options.unused && isUnusedKey(key))) continue;
    const drive = parseDrive(key, config.get(key) ?? '');
    if (drive) drives.push(drive);
  }
  return drives;
}

/** Rule [source QS QemuServer/Drive.pm valid_drive_names]: the order in which the server goes through drives, unused last. */
export function drivesByBus(config: ReadonlyMap<string, string>, options: { unused?: boolean } = {}): Drive[] {
  const rank = (key: string) => {
    const position = DRIVE_ORDER.indexOf(key);
    return position < 0 ? DRIVE_ORDER.length : position;
  };
  return drivesOf(config, options).sort((a, b) => rank(a.key) - rank(b.key));
}

const DRIVE_ORDER = [...BOOT_DRIVE_KEYS, 'efidisk0', 'tpmstate0'];

/** Rule [source QS QemuServer.pm get_default_bootdevices]: first disk, first CD, first NIC. */
export function defaultBootOrder(config: ReadonlyMap<string, string>): string[] {
  const first = (cdrom: boolean) =>
    BOOT_DRIVE_KEYS.find((key) => {
      const text = config.get(key);
      return text !== undefined && parseDrive(key, text)?.isCdrom === cdrom;
    });
  const nic = Array.from({ length: 32 }, (_, index) => `net${index}`).find((key) => config.has(key));
  return [first(false), first(true), nic].filter((key) => key !== undefined);
}

/** Rule [source QS QemuServer/Drive.pm parse_drive]: `bps=N` becomes `mbps=0.000`; both together do not parse. */
function convertByteLimits(options: Map<string, string>): boolean {
  for (const name of ['bps', 'bps_rd', 'bps_wr']) {
    if (!options.delete(name)) continue;
    if (options.has(`m${name}`)) return false;
    options.set(`m${name}`, '0.000');
  }
  return true;
}

const REQUIREMENTS: readonly (readonly [string, string])[] = [
  ['mbps_max', 'mbps'],
  ['mbps_rd_max', 'mbps_rd'],
  ['mbps_wr_max', 'mbps_wr'],
  ['bps_max_length', 'mbps_max'],
  ['bps_rd_max_length', 'mbps_rd_max'],
  ['bps_wr_max_length', 'mbps_wr_max'],
  ['iops_max_length', 'iops_max'],
  ['iops_rd_max_length', 'iops_rd_max'],
  ['iops_wr_max_length', 'iops_wr_max'],
];

function hasContradiction(key: string, options: ReadonlyMap<string, string>): boolean {
  const isSet = (name: string) => Number(options.get(name) ?? 0) !== 0;
  if (REQUIREMENTS.some(([option, needed]) => isSet(option) && !isSet(needed))) return true;
  for (const unit of ['mbps', 'iops']) {
    if (isSet(unit) && (isSet(`${unit}_rd`) || isSet(`${unit}_wr`))) return true;
  }
  // The formats of EFI disks and TPM states have no media.
  if (options.has('media') && /^(efidisk|tpmstate)/.test(key)) return true;
  if (options.get('media') !== 'cdrom') return false;
  return options.get('snapshot') === '1' || options.has('format') || key.startsWith('virtio');
}

/** Rule [source QS API2/Qemu.pm $update_vm_api]: empty where the old letters are used, or nothing is said. */
export function bootOrderOf(boot: string | undefined): string[] {
  return splitList(splitProperty(boot ?? '').find((part) => part.key === 'order')?.value ?? '');
}

/** Rule [source QS QemuServer.pm print_bootorder]. */
export function printBootOrder(devices: readonly string[]): string {
  return devices.length === 0 ? '' : `order=${devices.join(';')}`;
}
