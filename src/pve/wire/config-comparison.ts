/**
 * Compares a desired configuration value with the actual one. The server rewrites, completes and retypes values, so equal
 * values may have different texts. The comparison has a direction: what `desired` leaves to the server (a MAC address, the
 * name of a volume, a machine version) is not a difference.
 */

import { type ConfigKey, type ConfigScalar, describeConfigKey, textOf } from './config-keys.ts';
import { canonicalDescription, canonicalSshKeys, parseBootOrder, parseTags, printTags } from './config-texts.ts';
import {
  canonicalProperty,
  equalProperty,
  type PropertyFormat,
  type PropertyValue,
  parseProperty,
} from './property-string.ts';
import {
  allocationSizeBytes,
  byCodeUnit,
  canonicalDecimal,
  fromWireBoolean,
  parseSize,
  splitList,
  toWireBoolean,
} from './scalars.ts';
import { isCloudInitVolume, parseVolume, storageOfVolume, type Volume } from './volume.ts';

export type Comparison = 'equal' | 'different';

export function compareConfigValue(key: string, desired: ConfigScalar, actual: ConfigScalar): Comparison {
  return satisfies(describeConfigKey(key), textOf(desired), textOf(actual)) ? 'equal' : 'different';
}

function satisfies(key: ConfigKey | undefined, desired: string | undefined, actual: string | undefined): boolean {
  if (desired === actual || key === undefined) return desired === actual;
  if (key.generated === 'always' || key.secret) return true;
  if (key.generated === 'when-absent' && desired === undefined) return true;
  if (key.device && (desired === undefined || actual === undefined)) return false;
  switch (key.kind) {
    case 'drive':
      return driveSatisfies(key.format, desired ?? '', actual ?? '');
    case 'property':
      return propertySatisfies(key.format, desired ?? '', actual ?? '');
    case 'uuid':
      // `1` asks the server to generate a value.
      return desired === '1' ? isUuid(actual) : canonical(key, desired) === canonical(key, actual);
    default:
      return canonical(key, desired) === canonical(key, actual);
  }
}

function propertySatisfies(format: PropertyFormat, desiredText: string, actualText: string): boolean {
  const desired = parseProperty(format, desiredText);
  const actual = parseProperty(format, actualText);
  if (!desired.ok || !actual.ok) return false;
  return (
    canonicalProperty(format, desired.value) ===
    canonicalProperty(format, leaveOut(format, desired.value, actual.value))
  );
}

/** Removes what the server filled in because `desired` left it out: a MAC address, a UUID, the version of a machine type. */
function leaveOut(format: PropertyFormat, desired: PropertyValue, actual: PropertyValue): PropertyValue {
  switch (format.name) {
    case 'net':
      return desired.get('macaddr') === undefined ? actual.without('macaddr') : actual;
    case 'smbios1':
      return desired.get('uuid') === undefined ? actual.without('uuid') : actual;
    case 'machine':
      return isVersionOf(desired.get('type'), actual.get('type')) ? actual.with('type', desired.get('type')) : actual;
    default:
      return actual;
  }
}

/** For `q35` the server stores `pc-q35-10.0+pve1` in Windows guests; the default family is `pc`. */
function isVersionOf(desired: string | undefined, actual: string | undefined): boolean {
  if (actual === undefined) return false;
  switch (desired) {
    case undefined:
    case 'pc':
      return /^pc(-i440fx)?-\d/.test(actual);
    case 'q35':
      return /^pc-q35-\d/.test(actual);
    case 'virt':
      return /^virt-\d/.test(actual);
    default:
      return false;
  }
}

/** One text per meaning, for values that are not property strings. */
function canonical(key: ConfigKey, value: string | undefined): string {
  // The server returns one blank for a value that was emptied.
  // It drops blanks around a value when it reads its file.
  const text = value === undefined || value.trim() === '' ? (key.default ?? '') : value.trim();
  switch (key.kind) {
    case 'boolean': {
      const truth = fromWireBoolean(text);
      return truth === undefined ? text : toWireBoolean(truth);
    }
    case 'integer':
    case 'number':
      return canonicalDecimal(Number(text) > (key.maximum ?? Infinity) ? String(key.maximum) : text);
    case 'uuid':
      return text.toLowerCase();
    case 'description':
      return canonicalDescription(value ?? '');
    case 'tags':
      return printTags(parseTags(text));
    case 'ssh-keys':
      return canonicalSshKeys(text);
    case 'hotplug':
      return canonicalHotplug(text === '1' ? (key.default ?? '') : text);
    case 'words':
      return text.trim().split(/\s+/).join(' ');
    case 'set':
      return canonicalSet(splitList(text));
    case 'boot':
      return JSON.stringify(parseBootOrder(value) ?? text);
    default:
      // The server removes one pair of quotes around plain text.
      return text.replace(/^"(.*)"$/, '$1');
  }
}

function canonicalHotplug(text: string): string {
  return text === '0' ? '' : canonicalSet(splitList(text));
}

function canonicalSet(items: readonly string[]): string {
  return [...new Set(items)].sort(byCodeUnit).join(' ');
}

function isUuid(text: string | undefined): boolean {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** Used only at creation, measured by the server, or added by it: never a difference of options. */
const NOT_OPTIONS = ['file', 'size', 'format', 'import-from', 'ms-cert'];

/**
 * The server turns `local:32` into a volume whose name it chooses and whose size it measures. So images are compared by
 * storage, options and "at least as large", and media such as ISO files by name.
 */
function driveSatisfies(format: PropertyFormat, desiredText: string, actualText: string): boolean {
  const desired = parseProperty(format, desiredText);
  const actual = parseProperty(format, actualText);
  if (!desired.ok || !actual.ok) return false;
  const desiredVolume = parseVolume(desired.value.get('file') ?? '');
  const actualVolume = parseVolume(actual.value.get('file') ?? '');
  if (!desiredVolume || !actualVolume) return false;
  return (
    sameBacking(desiredVolume, actualVolume, desired.value.get('file') === actual.value.get('file')) &&
    equalProperty(format, optionsOf(desired.value, desiredVolume), optionsOf(actual.value, actualVolume)) &&
    isLargeEnough(format, desired.value, desiredVolume, actual.value)
  );
}

function sameBacking(desired: Volume, actual: Volume, sameText: boolean): boolean {
  if (isCloudInitVolume(desired) !== isCloudInitVolume(actual)) return false;
  if (isGuestOwned(desired) && isGuestOwned(actual)) {
    const storage = storageOfVolume(desired);
    return storage === undefined || storage === storageOfVolume(actual);
  }
  return sameText;
}

function isGuestOwned(volume: Volume): boolean {
  return volume.kind === 'image' || volume.kind === 'new' || volume.kind === 'new-cloudinit';
}

/** Drives that can only hold a medium are CD drives even without `media=cdrom`. */
function optionsOf(value: PropertyValue, volume: Volume): PropertyValue {
  const options = value.without(...NOT_OPTIONS);
  const isMedium = volume.kind === 'none' || volume.kind === 'cdrom' || isCloudInitVolume(volume);
  return isMedium && options.get('media') === undefined ? options.with('media', 'cdrom') : options;
}

function isLargeEnough(format: PropertyFormat, desired: PropertyValue, volume: Volume, actual: PropertyValue): boolean {
  // The server chooses the size of EFI disks and TPM state itself.
  if (format.name === 'efidisk' || format.name === 'tpmstate') return true;
  if (!isGuestOwned(volume) || isCloudInitVolume(volume)) return true;
  const desiredSize = desired.get('size');
  const allocatedBytes = volume.kind === 'new' ? allocationSizeBytes(volume.sizeGiB) : 0;
  const desiredBytes = desiredSize === undefined ? allocatedBytes : (parseSize(desiredSize) ?? 0);
  const actualBytes = parseSize(actual.get('size') ?? '');
  return actualBytes === undefined || actualBytes >= desiredBytes;
}
