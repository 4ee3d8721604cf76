/**
 * The space that a plan needs on storages: counted for each node and storage, compared once for the whole plan. A storage
 * that nodes share is one place.
 */
import { ProxwrightError } from '../../../../base/errors.ts';
import { printByteSize } from '../../../../base/values/units.ts';
import type { StorageRow } from '../../../cluster.ts';
import { type Positioned, whereOf } from '../../../fields/positions.ts';
import type { Findings } from '../../../kind.ts';
import type { Observed } from '../../../observed.ts';
import { drivesOf } from '../../config/disks.ts';
import type { ResolvedVm } from '../../stack.ts';

type Needed = Findings['neededBytes'];

interface CountedVm {
  readonly vm: ResolvedVm;
  readonly creating: boolean;
  /** Drives that exist already and take no space. */
  readonly carried?: ReadonlyMap<string, string> | undefined;
}

/** Adds the space for new disks and, in a full clone, for those of the template, at their final size. */
export function countNeeds(
  { vm, creating, carried }: CountedVm,
  base: ReadonlyMap<string, string>,
  { neededBytes }: Pick<Findings, 'neededBytes'>,
): void {
  const { clone, disks = {}, node } = vm.fields;
  const add = (storage: string | undefined, bytes: number) => {
    if (storage !== undefined) needRoom({ neededBytes }, vm, { node, storage, bytes });
  };
  const inherited = new Map(drivesOf(base).map((drive) => [drive.key, drive]));
  if (creating && clone?.mode === 'full') {
    for (const drive of inherited.values()) {
      if (drive.kind !== 'disk' || carried?.has(drive.key)) continue;
      const desiredBytes = disks[drive.key]?.size ?? 0;
      add(clone.storage ?? drive.file.split(':')[0], Math.max(desiredBytes, drive.sizeBytes ?? 0));
    }
  }
  for (const [slot, disk] of Object.entries(disks)) {
    if (!inherited.has(slot) && disk.size !== undefined) add(disk.storage, disk.size);
  }
}

export function needRoom(
  { neededBytes }: Pick<Findings, 'neededBytes'>,
  vm: ResolvedVm,
  { node, storage, bytes }: { readonly node: string; readonly storage: string; readonly bytes: number },
): void {
  if (bytes <= 0) return;
  const key = `${node}/${storage}`;
  neededBytes.set(key, { bytes: (neededBytes.get(key)?.bytes ?? 0) + bytes, for: vm });
}

/** Runs after all VMs are counted: a storage must have enough space for the whole plan. */
export function checkRoom(observed: Observed, { neededBytes, problems }: Findings): void {
  for (const { row, node, bytes, for: resource } of placesOf(neededBytes, observed)) {
    // Thin storage may be overcommitted; only what certainly does not fit is refused.
    if (row?.availableBytes === undefined || isThin(row) || bytes <= row.availableBytes) continue;
    const place = row.shared ? `"${row.storage}"` : `"${row.storage}" of ${node}`;
    problems.push(
      new ProxwrightError({
        code: 'NO_SPACE',
        where: whereOf(resource),
        detail: `This plan needs ${printByteSize(bytes)} on ${place}; ${printByteSize(row.availableBytes)} are free.`,
        hint: 'Free some space, create fewer or smaller disks, or use several storages.',
      }).diagnostic,
    );
  }
}

/** By place: what all nodes need there together. */
export function placesOf(needed: Needed, observed: Observed): readonly NeededPlace[] {
  const places = new Map<string, NeededPlace>();
  for (const [key, { bytes, for: resource }] of needed) {
    const [node = '', storage = ''] = key.split('/');
    const place = roomKey(key, observed);
    const known = places.get(place);
    const row = known?.row ?? rowOf(observed, node, storage);
    places.set(place, { key: place, node, row, bytes: (known?.bytes ?? 0) + bytes, for: resource });
  }
  return [...places.values()];
}

interface NeededPlace {
  readonly key: string;
  readonly node: string;
  readonly row: StorageRow | undefined;
  readonly bytes: number;
  /** One of the resources. */
  readonly for: Positioned;
}

/** `pve1/tank`, or `*\/ceph` where all nodes share it. */
export function roomKey(key: string, observed: Observed): string {
  const [node = '', storage = ''] = key.split('/');
  return rowOf(observed, node, storage)?.shared ? `*/${storage}` : key;
}

function rowOf({ storages }: Observed, node: string, storage: string): StorageRow | undefined {
  const rows = storages.get(node);
  return rows?.ok ? rows.value.find((each) => each.storage === storage) : undefined;
}

export const isThin = (row: StorageRow) => row.type === 'lvmthin' || row.type === 'zfspool' || row.type === 'rbd';
