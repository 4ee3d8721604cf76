/**
 * From the desired and the actual value of a key to the text to write. It is built from the ACTUAL text, so that MAC
 * addresses, volume names and unmanaged sub-keys are kept. Whether anything has to be written is decided by the equality
 * rules of the wire format.
 */
import { assertNever } from '../../../base/errors.ts';
import { compareConfigValue, describeConfigKey, equalDescription } from '../../../pve/wire/index.ts';
import type { DesiredEntry, DesiredField, DesiredKey, DesiredValue } from '../config/desired.ts';
import {
  findCloudInitDrive,
  isCdromPartSatisfied,
  isCdromSatisfied,
  isDiskPartSatisfied,
  isDiskSatisfied,
  mergedCdrom,
  mergedDisk,
  parseDrive,
} from '../config/disks.ts';
import { arePartsSatisfied, isPartSatisfied, mergedParts, printPropertyOf, propertyOf } from '../config/parts.ts';
import {
  appendOwnership,
  ipsIn,
  ownershipLines,
  stripOwnership,
  withoutIps,
  withoutLeaving,
  withoutLineage,
} from '../ownership.ts';

/** Everything but secrets, whose values are only ever sent. */
export type Mergeable = Exclude<DesiredKey, { readonly kind: 'secret' }>;

/** The text to write; undefined (or empty) if the key has to be removed, or cannot be created. */
export function mergedText(key: string, desired: Mergeable, actual: string | undefined): string | undefined {
  switch (desired.kind) {
    case 'value':
      return desired.text;
    case 'property': {
      const merged = mergedParts(key, desired.set, propertyOf(key, actual ?? desired.base ?? ''));
      // A new device is written even if all its values are Proxmox's defaults.
      const isNew = actual === undefined && isDevice(key);
      const parts = isNew ? Object.entries(desired.set) : [];
      return spelled(
        key,
        printPropertyOf(
          key,
          parts.reduce((value, [part, text]) => value.with(part, text), merged),
        ),
      );
    }
    case 'notes':
      return mergedNotes(desired, actual);
    case 'disk':
      return mergedDisk(key, desired, actual);
    case 'cdrom':
      return mergedCdrom(key, desired, actual);
    case 'cloud-init-drive':
      return actual ?? `${desired.storage}:cloudinit`;
    case 'absent':
      return undefined;
    default:
      return assertNever(desired);
  }
}

/** Whether the actual value satisfies the desired one. Of a secret only its presence is visible. */
export function isSatisfied(key: string, desired: DesiredKey, actual: string | undefined): boolean {
  switch (desired.kind) {
    case 'value':
      return compareConfigValue(key, desired.text, actual) === 'equal';
    case 'secret':
      return actual !== undefined;
    case 'property': {
      if (actual === undefined && isDevice(key)) return false;
      return arePartsSatisfied(key, desired.set, propertyOf(key, actual));
    }
    case 'notes':
      return hasNotes(desired, actual) && hasLine(desired, actual);
    case 'disk':
      return actual !== undefined && isDiskSatisfied(desired, parseDrive(key, actual));
    case 'cdrom':
      return actual !== undefined && isCdromSatisfied(desired, parseDrive(key, actual));
    case 'cloud-init-drive':
      return actual !== undefined && parseDrive(key, actual).kind === 'cloud-init';
    case 'absent':
      return isDevice(key) ? actual === undefined : compareConfigValue(key, undefined, actual) === 'equal';
    default:
      return assertNever(desired);
  }
}

/** Whether one field of an entry is satisfied. */
export function isFieldSatisfied(entry: DesiredEntry, field: DesiredField, actual: string | undefined): boolean {
  const { key, desired } = entry;
  if (field.parts.length === 0 || desired.kind === 'secret') return isSatisfied(key, desired, actual);
  switch (desired.kind) {
    case 'property': {
      if (actual === undefined && isDevice(key)) return false;
      const observed = propertyOf(key, actual);
      return field.parts.every((part) => isPartSatisfied(key, part, desired.set[part], observed));
    }
    case 'disk':
      return actual !== undefined && field.parts.every((part) => isDiskPartSatisfied(key, desired, part, actual));
    case 'cdrom':
      return actual !== undefined && field.parts.every((part) => isCdromPartSatisfied(key, desired, part, actual));
    case 'notes':
      return field.words === 'notes' ? hasNotes(desired, actual) : hasLine(desired, actual);
    default:
      return isSatisfied(key, desired, actual);
  }
}

/** What an entry is compared with: its own key, except for a cloud-init drive, which may be in any slot. */
export function actualOf(one: DesiredValue, values: ReadonlyMap<string, string>): string | undefined {
  const own = values.get(one.key);
  if (one.desired.kind !== 'cloud-init-drive') return own;
  const drive = findCloudInitDrive(values);
  return drive === undefined ? own : values.get(drive.key);
}

/** The desired values that these values do not satisfy; empty after a write that succeeded. */
export function unsatisfied<Any extends DesiredValue>(
  desired: Iterable<Any>,
  values: ReadonlyMap<string, string>,
): Any[] {
  const all = [...desired];
  const open = all.filter((one) => !isSatisfied(one.key, one.desired, actualOf(one, values)));
  const lacking = all.filter((one) => lacksAddresses(one.desired, actualOf(one, values)));
  return open.length > 0 ? [...open, ...lacking] : [];
}

export function isDevice(key: string): boolean {
  return describeConfigKey(key)?.device === true;
}

type DesiredNotes = DesiredKey & { readonly kind: 'notes' };

function mergedNotes(desired: DesiredNotes, actual: string | undefined): string {
  return appendOwnership(desired.text ?? stripOwnership(actual ?? ''), desired.line);
}

function hasNotes(desired: DesiredNotes, actual = ''): boolean {
  return desired.text === undefined || equalDescription(stripOwnership(desired.text), stripOwnership(actual));
}

/**
 * Exactly this line: one that a clone copied has to be removed. A lineage counts only if both lines have one, addresses only
 * if the present line has some: lines of older versions have neither.
 */
function hasLine({ line = '' }: DesiredNotes, actual = ''): boolean {
  const present = ownershipLines(actual).join('\n');
  const found = withoutLeaving(line) === line ? withoutLeaving(present) : present;
  const desired = ipsIn(found) === undefined ? withoutIps(line) : line;
  return found === desired || found === withoutLineage(desired) || withoutLineage(found) === desired;
}

/** An older line that counts, and gets its addresses when something else of the VM is written. */
export function lacksAddresses(desired: DesiredKey, actual = ''): boolean {
  if (desired.kind !== 'notes' || desired.line === undefined || !hasLine(desired, actual)) return false;
  return ipsIn(desired.line) !== undefined && ipsIn(ownershipLines(actual).join('\n')) === undefined;
}

/**
 * What Proxmox would refuse or knows by another name: VE 8 has only the older name of an agent option, VE 9 has both;
 * and the address width is dropped together with the IOMMU.
 */
function spelled(key: string, text: string): string {
  if (key === 'agent') return text.replace(/(^|,)freeze-fs=/, '$1freeze-fs-on-backup=');
  const machine = key === 'machine' ? propertyOf(key, text) : undefined;
  return machine && machine.get('viommu') === undefined ? printPropertyOf(key, machine.without('aw-bits')) : text;
}
