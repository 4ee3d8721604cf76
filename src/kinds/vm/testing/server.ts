/**
 * A stand-in for the server in tests of the pure core: takes a write and answers the configuration as Proxmox would
 * keep it: volumes named, drives and cards re-printed, tags sorted, defaults left alone, a CD drive appended to the
 * boot order. The simulator does all of this faithfully; it lives above this folder, so these tests have their own
 * small one.
 */
import { Secret } from '../../../base/secret.ts';
import {
  allocationSizeBytes,
  parseBootOrder,
  parseTags,
  parseVolume,
  printBootOrder,
  printSize,
  printTags,
} from '../../../pve/wire/index.ts';
import { isDriveKey, parseDrive } from '../config/disks.ts';
import { printPropertyOf, propertyOf } from '../config/parts.ts';
import type { ConfigWrite, Resize } from '../config/writes.ts';
import type { VmObserved } from '../observed.ts';

type Values = ReadonlyMap<string, string>;

export function observedVm(values: Values, more: Partial<VmObserved> = {}): VmObserved {
  return {
    vmid: 101,
    node: 'pve1',
    uuid: propertyOf('smbios1', values.get('smbios1')).get('uuid'),
    digest: 'd'.repeat(40),
    current: values,
    pending: new Map(),
    pendingDeletes: new Set(),
    running: false,
    lock: undefined,
    template: false,
    ...more,
  };
}

/** A stopped VM after the write: everything takes effect immediately. */
export function afterWrite(values: Values, write: ConfigWrite): Map<string, string> {
  const result = new Map(values);
  let order = bootDevices(values);
  for (const key of write.delete) {
    result.delete(key);
    if (!order.includes(key)) continue;
    order = order.filter((device) => device !== key);
    result.set('boot', printBootOrder(order) || ' ');
  }
  for (const [key, text] of Object.entries(write.set)) {
    const value = stored(key, text instanceof Secret ? '**********' : text, result);
    result.set(key, value);
    const joins =
      order.length > 0 && isDriveKey(key) && parseDrive(key, value).kind === 'cdrom' && !order.includes(key);
    if (!joins) continue;
    order = [...order, key];
    result.set('boot', printBootOrder(order));
  }
  return result;
}

function bootDevices(values: Values): readonly string[] {
  const order = parseBootOrder(values.get('boot') ?? '');
  return order?.kind === 'order' ? order.devices : [];
}

export function afterResize(values: Values, { disk, sizeBytes }: Resize): Map<string, string> {
  const value = propertyOf(disk, values.get(disk)).with('size', printSize(sizeBytes));
  return new Map([...values, [disk, printPropertyOf(disk, value)]]);
}

function stored(key: string, text: string, values: Values): string {
  if (key === 'description') return text.trimEnd();
  if (key === 'tags') return printTags(parseTags(text));
  if (isDriveKey(key)) return storedDrive(key, text, values);
  if (!/^net\d+$/.test(key)) return text;
  const card = propertyOf(key, text);
  return printPropertyOf(key, card.get('macaddr') === undefined ? card.with('macaddr', 'BC:24:11:00:00:99') : card);
}

function storedDrive(key: string, text: string, values: Values): string {
  const drive = parseDrive(key, text);
  const { volume } = drive;
  const options = drive.value.without('format', 'import-from', 'size');
  const name = `vm-101-disk-${[...values.keys()].filter(isDriveKey).length}`;
  switch (volume?.kind) {
    case 'new': {
      const sizeBytes = drive.value.get('import-from') ? 2 ** 30 : allocationSizeBytes(volume.sizeGiB);
      const file = `${volume.storage}:${fileName(name, drive.value.get('format'))}`;
      return printPropertyOf(key, options.with('file', file).with('size', printSize(sizeBytes)));
    }
    case 'new-cloudinit':
      return printPropertyOf(key, options.with('file', `${volume.storage}:vm-101-cloudinit`).with('media', 'cdrom'));
    case 'none':
      return printPropertyOf(key, options.with('media', 'cdrom'));
    default: {
      const earlier = values.get(key);
      const size = earlier === undefined ? undefined : parseDrive(key, earlier);
      const kept = size?.file === drive.file ? size.value.get('size') : '374M';
      return printPropertyOf(key, options.with('size', kept));
    }
  }
}

function fileName(name: string, format: string | undefined): string {
  return format === undefined ? name : `101/${name}.${format}`;
}

/** Whether a text asks for a volume instead of naming one: it must never reach a drive that exists. */
export function asksForVolume(key: string, text: string): boolean {
  const kind = parseVolume(parseDrive(key, text).file)?.kind;
  return kind === 'new' || kind === 'new-cloudinit';
}
