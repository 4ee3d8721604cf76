/**
 * Drives: what is in a slot, what to write for the desired drive, and why a change is impossible. A write never replaces the
 * volume of an existing drive: another storage or format is a move, a new size a resize, and another kind of drive is refused.
 */

import { printByteSize } from '../../../base/values/units.ts';
import {
  isCloudInitVolume,
  type PropertyValue,
  parseSize,
  parseVolume,
  storageOfVolume,
  type Volume,
} from '../../../pve/wire/index.ts';
import type { DestroyedVolume } from '../../change.ts';
import type { VmFields } from '../fields/index.ts';
import { rowsOfKey } from '../fields/rows.ts';
import type { DesiredCdrom, DesiredDisk, SubKeys } from './desired.ts';
import { arePartsSatisfied, isPartSatisfied, mergedParts, printPropertyOf, propertyOf } from './parts.ts';

export interface Drive {
  readonly key: string;
  readonly value: PropertyValue;
  readonly file: string;
  readonly volume: Volume | undefined;
  readonly kind: 'disk' | 'cdrom' | 'cloud-init';
  readonly sizeBytes: number | undefined;
}

const DRIVE_KEY = /^(ide|sata|scsi|virtio|efidisk|tpmstate)\d+$/;
/** Storages round sizes up to their blocks; a disk that is larger by at most this has the desired size. */
const ROUNDING_BYTES = 64 * 1024 ** 2;

export function isDriveKey(key: string): boolean {
  return DRIVE_KEY.test(key);
}

export function parseDrive(key: string, text: string): Drive {
  const value = propertyOf(key, text);
  const file = value.get('file') ?? '';
  const volume = parseVolume(file);
  const isMedium = value.get('media') === 'cdrom' || volume?.kind === 'none' || volume?.kind === 'cdrom';
  const kind = volume && isCloudInitVolume(volume) ? 'cloud-init' : isMedium ? 'cdrom' : 'disk';
  return { key, value, file, volume, kind, sizeBytes: parseSize(value.get('size') ?? '') };
}

export function drivesOf(values: ReadonlyMap<string, string>): Drive[] {
  return [...values].filter(([key]) => isDriveKey(key)).map(([key, text]) => parseDrive(key, text));
}

/** Volumes that Proxmox destroys with the VM, or with these drives of it. Media that other VMs may use are not among them. */
export function volumesOf(values: ReadonlyMap<string, string>, slots?: ReadonlySet<string>): DestroyedVolume[] {
  return [...values].flatMap(([slot, text]): DestroyedVolume[] => {
    if (slots ? !slots.has(slot) : !isDriveKey(slot) && !/^unused\d+$/.test(slot)) return [];
    const drive = isDriveKey(slot) ? parseDrive(slot, text) : undefined;
    const volume = drive?.file ?? text.split(',')[0] ?? '';
    const kind = parseVolume(volume)?.kind;
    return kind === 'image' || kind === 'other' ? [{ slot, volume, sizeBytes: drive?.sizeBytes }] : [];
  });
}

export function findCloudInitDrive(values: ReadonlyMap<string, string>): Drive | undefined {
  return drivesOf(values).find((drive) => drive.kind === 'cloud-init');
}

/** Volumes that the disks, EFI variables and TPM state of a VM are copied from, and media in its CD drives. */
export function sourceVolumes({ disks = {}, efi, tpm }: Pick<VmFields, 'disks' | 'efi' | 'tpm'>): string[] {
  const ofDisks = Object.values(disks).flatMap(({ import_from, iso }) => [import_from, iso]);
  const all = [...ofDisks, efi?.import_from, tpm?.import_from];
  return all.filter((volume): volume is string => typeof volume === 'string');
}

/** EFI variables and TPM state: what they are cannot be changed after creation. */
export function isFixedDrive(key: string): boolean {
  return key === 'efidisk0' || key === 'tpmstate0';
}

/** A sub-key of such a drive that says what it is. */
function isFixedPart(key: string, part: string): boolean {
  return isFixedDrive(key) && rowsOfKey(key).find((row) => row.part === part)?.facts.effect === 'creation';
}

/** What is written for a new volume, or for an existing one. */
function writableParts(key: string, set: SubKeys, isNew: boolean): SubKeys {
  if (!isFixedDrive(key)) return set;
  // Proxmox trusts a mark that comes with a new volume, and adds the certificates only when the mark changes later.
  const isWritable = (part: string) => (isNew ? part !== 'ms-cert' : !isFixedPart(key, part));
  return Object.fromEntries(Object.entries(set).filter(([part]) => isWritable(part)));
}

/** The text to write; undefined if the slot is empty and the file does not say how to fill it. */
export function mergedDisk(key: string, desired: DesiredDisk, actual: string | undefined): string | undefined {
  if (actual === undefined) {
    if (desired.create === undefined) return undefined;
    return withOptions(key, writableParts(key, desired.set, true), propertyOf(key, desired.create));
  }
  if (parseDrive(key, actual).kind !== 'disk') return actual;
  const set = writableParts(key, desired.set, false);
  // The storage decides the sizes of these two.
  if (isFixedDrive(key) && arePartsSatisfied(key, set, propertyOf(key, actual))) return actual;
  return withOptions(key, set, propertyOf(key, actual).without('size'));
}

/**
 * The text of a second write, for what Proxmox does not do while it creates a volume; undefined if nothing is left to
 * do.
 */
export function markedLater(key: string, desired: DesiredDisk): string | undefined {
  if (desired.create === undefined) return undefined;
  const made = mergedDisk(key, desired, undefined) ?? '';
  const text = withOptions(key, desired.set, propertyOf(key, made));
  return text === made ? undefined : text;
}

export function mergedCdrom(key: string, desired: DesiredCdrom, actual: string | undefined): string {
  const drive = actual === undefined ? undefined : parseDrive(key, actual);
  if (drive && drive.kind !== 'cdrom' && !takesPlace(desired, drive)) return actual ?? '';
  const base = drive?.kind === 'cdrom' ? drive.value.without('size') : propertyOf(key, 'none');
  return withOptions(key, { ...desired.set, media: 'cdrom' }, base.with('file', desired.file));
}

/** Custom cloud-init files replace Proxmox's drive: a guest that finds both may use either. */
function takesPlace(desired: DesiredDisk | DesiredCdrom, { kind }: Drive): boolean {
  return desired.kind === 'cdrom' && desired.seed === true && kind === 'cloud-init';
}

export function isDiskSatisfied(desired: DesiredDisk, drive: Drive): boolean {
  return (
    drive.kind === 'disk' &&
    VOLUME_PARTS.every((part) => isVolumePartSatisfied(desired, part, drive)) &&
    arePartsSatisfied(drive.key, desired.set, drive.value)
  );
}

export function isCdromSatisfied(desired: DesiredCdrom, drive: Drive): boolean {
  return (
    drive.kind === 'cdrom' && drive.file === desired.file && arePartsSatisfied(drive.key, desired.set, drive.value)
  );
}

/** What a file says about the volume, not the drive; none of it is sent for an existing drive. */
const VOLUME_PARTS = ['size', 'storage', 'format', 'import-from', 'keep'] as const;
type VolumePart = (typeof VOLUME_PARTS)[number];

function isVolumePartSatisfied(desired: DesiredDisk, part: VolumePart, drive: Drive): boolean {
  switch (part) {
    case 'size':
      return (drive.sizeBytes ?? 0) >= (desired.sizeBytes ?? 0);
    case 'storage':
      return desired.storage === undefined || storageOf(drive) === desired.storage;
    case 'format':
      return desired.format === undefined || [desired.format, undefined].includes(formatOfVolume(drive));
    // Proxmox neither reports where a volume was copied from, nor knows that it is kept.
    case 'import-from':
    case 'keep':
      return true;
  }
}

/** One field of a disk: `part` is an option, or `size`, `storage`, `format`, `import-from`. */
export function isDiskPartSatisfied(key: string, desired: DesiredDisk, part: string, actual: string): boolean {
  const drive = parseDrive(key, actual);
  if (drive.kind !== 'disk') return false;
  const volumePart = VOLUME_PARTS.find((each) => each === part);
  return volumePart === undefined
    ? isPartSatisfied(key, part, desired.set[part], drive.value)
    : isVolumePartSatisfied(desired, volumePart, drive);
}

export function isCdromPartSatisfied(key: string, desired: DesiredCdrom, part: string, actual: string): boolean {
  const drive = parseDrive(key, actual);
  if (drive.kind !== 'cdrom') return false;
  return part === 'file' ? drive.file === desired.file : isPartSatisfied(key, part, desired.set[part], drive.value);
}

/** The value of a field for an existing drive, in Proxmox's syntax. */
export function diskPartText(key: string, part: string, actual: string): string | undefined {
  const drive = parseDrive(key, actual);
  switch (part) {
    case 'storage':
      return storageOf(drive);
    case 'format':
      return formatOfVolume(drive);
    default:
      return drive.value.get(part);
  }
}

/** Why this field cannot be changed; undefined if it can. */
export function diskProblem(
  key: string,
  desired: DesiredDisk | DesiredCdrom,
  part: string,
  actual: string | undefined,
): string | undefined {
  if (actual === undefined) {
    return desired.kind === 'cdrom' || desired.create !== undefined
      ? undefined
      : `The VM has no ${key}, and a new one needs a storage and a size or import_from.`;
  }
  const drive = parseDrive(key, actual);
  if (takesPlace(desired, drive)) return undefined;
  if (drive.kind !== desired.kind) {
    const names = { disk: 'a disk', cdrom: 'a CD drive', 'cloud-init': 'the cloud-init drive' };
    return `${key} is ${names[drive.kind]} and cannot become ${names[desired.kind]}; use another slot, or remove it first.`;
  }
  if (desired.kind === 'cdrom' || isDiskPartSatisfied(key, desired, part, actual)) return undefined;
  switch (part) {
    case 'storage':
    case 'format':
      return storageOf(drive) === undefined
        ? `${key} is ${drive.file}, which belongs to no storage, so Proxmox cannot move it.`
        : undefined;
    case 'size':
      // It moves before it grows, and may then have another format.
      return formatOfVolume(drive) === 'vmdk' &&
        isDiskPartSatisfied(key, desired, 'format', actual) &&
        isDiskPartSatisfied(key, desired, 'storage', actual)
        ? `${key} is a vmdk file, which Proxmox cannot grow; format: qcow2 converts it first.`
        : undefined;
    default:
      return isFixedPart(key, part) ? `${key} cannot be changed after it has been created.` : undefined;
  }
}

/** Why the size in the file is too small for the disk; undefined if it is not. */
export function shrinkProblem(key: string, sizeBytes: number, actual: string | undefined): string | undefined {
  const actualBytes = actual === undefined ? undefined : parseDrive(key, actual).sizeBytes;
  if (actualBytes === undefined || actualBytes - sizeBytes <= ROUNDING_BYTES) return undefined;
  return `${key} already has ${printByteSize(actualBytes)}; disks can only grow.`;
}

function withOptions(key: string, set: SubKeys, base: PropertyValue): string {
  return printPropertyOf(key, mergedParts(key, set, base));
}

/** Proxmox moves the TPM state only while the VM is off; a running guest would keep using the old cloud-init drive. */
export function movesOnlyOffline({ key, kind }: Drive): boolean {
  return key === 'tpmstate0' || kind === 'cloud-init';
}

export function storageOf(drive: Drive): string | undefined {
  return drive.volume && storageOfVolume(drive.volume);
}

/** Only file-based storages show it in the name. */
export function formatOfVolume(drive: Drive): string | undefined {
  return /\.(raw|qcow2|vmdk)$/.exec(drive.file)?.[1];
}
