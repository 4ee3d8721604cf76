/**
 * Whether a drive already is what somebody wants. The server turns `local:32` into a volume with a name of its choosing
 * and a size it measures, so images compare by storage, options and "at least as large"; media such as ISO files compare
 * by name.
 */
import { equalProperty } from './property-equality.ts';
import { type PropertyFormat, type PropertyValue, parseProperty } from './property-string.ts';
import { allocationSizeBytes, parseSize } from './size.ts';
import { isCloudInitVolume, parseVolume, storageOfVolume, type Volume } from './volume.ts';

/** Said once at creation, measured by the server, or added by it: never a difference of options. */
const NOT_OPTIONS = ['file', 'size', 'format', 'import-from', 'ms-cert'];

export function driveSatisfies(format: PropertyFormat, desired: string, actual: string): boolean {
  const wanted = parseProperty(format, desired);
  const found = parseProperty(format, actual);
  if (!wanted.ok || !found.ok) return false;
  const wantedVolume = parseVolume(wanted.value.get('file') ?? '');
  const foundVolume = parseVolume(found.value.get('file') ?? '');
  if (!wantedVolume || !foundVolume) return false;
  return (
    sameBacking(wantedVolume, foundVolume, wanted.value.get('file') === found.value.get('file')) &&
    equalProperty(format, optionsOf(wanted.value, wantedVolume), optionsOf(found.value, foundVolume)) &&
    isLargeEnough(format, wanted.value, wantedVolume, found.value)
  );
}

function sameBacking(wanted: Volume, found: Volume, sameText: boolean): boolean {
  if (isCloudInitVolume(wanted) !== isCloudInitVolume(found)) return false;
  if (isGuestOwned(wanted) && isGuestOwned(found)) {
    const storage = storageOfVolume(wanted);
    return storage === undefined || storage === storageOfVolume(found);
  }
  return sameText;
}

function isGuestOwned(volume: Volume): boolean {
  return volume.kind === 'image' || volume.kind === 'new' || volume.kind === 'new-cloudinit';
}

/** Drives that can only hold a medium become CD drives without being told so. */
function optionsOf(value: PropertyValue, volume: Volume): PropertyValue {
  const options = value.without(...NOT_OPTIONS);
  const isMedium = volume.kind === 'none' || volume.kind === 'cdrom' || isCloudInitVolume(volume);
  return isMedium && options.get('media') === undefined ? options.with('media', 'cdrom') : options;
}

function isLargeEnough(format: PropertyFormat, wanted: PropertyValue, volume: Volume, found: PropertyValue): boolean {
  // Firmware variables and TPM state have the size their content needs, whatever was asked for.
  if (format.name === 'efidisk' || format.name === 'tpmstate') return true;
  if (!isGuestOwned(volume) || isCloudInitVolume(volume)) return true;
  const wantedSize = wanted.get('size');
  const allocatedBytes = volume.kind === 'new' ? allocationSizeBytes(volume.sizeGiB) : 0;
  const wantedBytes = wantedSize === undefined ? allocatedBytes : (parseSize(wantedSize) ?? 0);
  const foundBytes = parseSize(found.get('size') ?? '');
  return foundBytes === undefined || foundBytes >= wantedBytes;
}
