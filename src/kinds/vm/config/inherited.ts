/** Disks and NICs that a VM has and the stack does not mention: the plan shows them, and they are kept. */
import { printByteSize } from '../../../base/values/units.ts';
import { byCodeUnit, storageOfVolume } from '../../../pve/wire/index.ts';
import type { DesiredConfig, DesiredEntry } from './desired.ts';
import { type Drive, isDriveKey, parseDrive } from './disks.ts';
import { propertyOf } from './parts.ts';

export interface InheritedDevice {
  readonly key: string;
  readonly kind: Drive['kind'] | 'nic';
  /** A few words: `20GiB on tank`, `virtio on vmbr0, VLAN 20`. */
  readonly summary: string;
}

export function inheritedDevices(
  desired: DesiredConfig,
  values: ReadonlyMap<string, string>,
): readonly InheritedDevice[] {
  const managesCloudInit = [...desired.values()].some((entry) => entry.desired.kind === 'cloud-init-drive');
  return [...values]
    .filter(([key]) => isLeftAlone(desired.get(key)))
    .sort(([a], [b]) => byCodeUnit(a, b))
    .flatMap(([key, text]): InheritedDevice[] => {
      if (/^net\d+$/.test(key)) return [{ key, kind: 'nic', summary: nicSummary(key, text) }];
      if (!isDriveKey(key)) return [];
      const drive = parseDrive(key, text);
      const isManaged = drive.kind === 'cloud-init' && managesCloudInit;
      return isManaged ? [] : [{ key, kind: drive.kind, summary: driveSummary(drive) }];
    });
}

/** The file says nothing about it. */
function isLeftAlone(entry: DesiredEntry | undefined): boolean {
  return !entry || (entry.fields.length > 0 && entry.fields.every(({ takenOver }) => takenOver));
}

function nicSummary(key: string, text: string): string {
  const nic = propertyOf(key, text);
  const [model = 'card', bridge, tag] = [nic.get('model'), nic.get('bridge'), nic.get('tag')];
  const place = bridge === undefined ? 'without a bridge' : `on ${bridge}`;
  return `${model} ${place}${tag === undefined ? '' : `, VLAN ${tag}`}`;
}

function driveSummary(drive: Drive): string {
  const storage = drive.volume && storageOfVolume(drive.volume);
  switch (drive.kind) {
    case 'cloud-init':
      return `cloud-init drive on ${storage}`;
    case 'cdrom':
      return drive.file === 'none' ? 'empty CD drive' : `CD drive with ${drive.file}`;
    case 'disk':
      return `${drive.sizeBytes === undefined ? 'disk' : printByteSize(drive.sizeBytes)} on ${storage ?? drive.file}`;
  }
}
