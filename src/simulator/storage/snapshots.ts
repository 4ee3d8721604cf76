/** Snapshots of single volumes: taking, rolling back and removing them, and what each storage refuses. */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { Storage, Volume, World } from '../world/world.ts';
import { commandFailure } from './image-files.ts';
import { parseVolumeName, splitVolid } from './names.ts';
import { usesVolumeChain, volumeGroup, volumePath } from './paths.ts';
import type { LogLine } from './space.ts';
import { findVolume, storageConfig } from './volumes.ts';

export interface SnapshotInput {
  readonly node: string;
  readonly volid: string;
  readonly snapshot: string;
  /** QEMU itself does the work on a running VM. */
  readonly running?: boolean;
  readonly log: LogLine;
}

/** Rule [recorded snapshots]: an offline snapshot is a matter of milliseconds. */
const SNAPSHOT_MS = 20;

interface Subject {
  readonly storage: Storage;
  readonly volume: Volume;
  readonly name: string;
}

/** Rule [source ST plugins' volume_snapshot]. */
export async function snapshotVolume(runtime: Runtime, input: SnapshotInput): Promise<void> {
  const { storage, volume } = subjectOf(runtime.world, input);
  refuseFormat(storage, volume, {
    file: "can't snapshot this image format",
    lvm: `can't snapshot '${volume.format}' volume`,
  });
  await runtime.clock.sleep(SNAPSHOT_MS);
  if (storage.type === 'lvmthin') {
    const name = `snap_${volume.name}_${input.snapshot}`;
    if (volume.snapshots.has(input.snapshot)) {
      const group = volumeGroup(storage);
      throw dieFault(
        `lvcreate snapshot '${group}/${name}' error:   Logical Volume "${name}" already exists in volume group "${group}"`,
      );
    }
    input.log(`  Logical volume "${name}" created.`);
  }
  volume.snapshots.set(input.snapshot, { sizeBytes: volume.sizeBytes });
}

/** Rule [source ST plugins' volume_snapshot_rollback]. */
export async function rollbackVolume(runtime: Runtime, input: SnapshotInput): Promise<void> {
  const { storage, volume, name } = subjectOf(runtime.world, input);
  assertRollbackPossible(runtime.world, input.node, input.volid, input.snapshot);
  refuseFormat(storage, volume, {
    file: "can't rollback snapshot this image format",
    lvm: `can't rollback snapshot for '${volume.format}' volume`,
  });
  await runtime.clock.sleep(SNAPSHOT_MS);
  const snapshot = volume.snapshots.get(input.snapshot);
  if (!snapshot) throw missingSnapshot(storage, name, input.snapshot, '-a');
  if (storage.type === 'lvmthin') {
    input.log(`  Logical volume "${name}" successfully removed.`);
    input.log(`  Logical volume "${name}" created.`);
    input.log(`  Logical volume ${volumeGroup(storage)}/${name} changed.`);
  }
  if (storage.type === 'rbd') input.log('Rolling back to snapshot: 100% complete...done.');
  volume.sizeBytes = snapshot.sizeBytes;
}

/** Rule [source ST plugins' volume_snapshot_delete]. */
export async function deleteVolumeSnapshot(runtime: Runtime, input: SnapshotInput): Promise<void> {
  const { storage, volume, name } = subjectOf(runtime.world, input);
  refuseFormat(storage, volume, {
    file: "can't delete snapshot for this image format",
    lvm: `can't delete snapshot for '${volume.format}' volume`,
  });
  await runtime.clock.sleep(SNAPSHOT_MS);
  if (!volume.snapshots.has(input.snapshot)) throw missingSnapshot(storage, name, input.snapshot, '-d');
  if (storage.type === 'lvmthin') {
    input.log(`  Logical volume "snap_${name}_${input.snapshot}" successfully removed.`);
  }
  if (storage.type === 'rbd') input.log('Removing snap: 100% complete...done.');
  volume.snapshots.delete(input.snapshot);
}

/**
 * Rule [source ST Storage/ZFSPoolPlugin.pm, Storage/Plugin.pm volume_rollback_is_possible]: ZFS and volume chains go back
 * only to the newest snapshot; everything else to any. `blockers` receives the snapshots in the way.
 */
export function assertRollbackPossible(
  world: World,
  node: string,
  volid: string,
  snapshot: string,
  blockers: string[] = [],
): void {
  const { storage, volume, name } = subjectOf(world, { node, volid });
  if (storage.type !== 'zfspool' && !usesVolumeChain(storage)) return;
  const shown = storage.type === 'zfspool' ? volid : name;
  const names = [...volume.snapshots.keys()];
  const position = names.indexOf(snapshot);
  if (position < 0) throw dieFault(`can't rollback, snapshot '${snapshot}' does not exist on '${shown}'`);
  blockers.push(...names.slice(position + 1));
  if (blockers.length > 0) throw dieFault(`can't rollback, '${snapshot}' is not most recent snapshot on '${shown}'`);
}

function subjectOf(world: World, { node, volid }: { readonly node: string; readonly volid: string }): Subject {
  const { storage: id, name } = splitVolid(volid);
  const storage = storageConfig(world, id);
  parseVolumeName(storage, name);
  const volume = findVolume(world, node, volid);
  if (!volume) throw dieFault(`volume '${volid}' does not exist`);
  return { storage, volume, name };
}

function refuseFormat(storage: Storage, volume: Volume, texts: { readonly file: string; readonly lvm: string }): void {
  if (volume.format === 'qcow2') return;
  if (storage.type === 'dir' || storage.type === 'nfs') throw dieFault(texts.file);
  if (storage.type === 'lvm') throw dieFault(texts.lvm);
}

/** Rule [assumed]: the message of the tool that does not find the snapshot. */
function missingSnapshot(storage: Storage, name: string, snapshot: string, option: '-a' | '-d'): Error {
  const path = volumePath(storage, name);
  switch (storage.type) {
    case 'dir':
    case 'nfs':
    case 'lvm':
      return commandFailure(['/usr/bin/qemu-img', 'snapshot', option, snapshot, path], 'exit code 1');
    case 'lvmthin': {
      const missing = `${volumeGroup(storage)}/snap_${name}_${snapshot}`;
      return dieFault(`lvremove snapshot '${missing}' error:   Failed to find logical volume "${missing}"`);
    }
    case 'zfspool':
      return dieFault(`zfs error: could not find any snapshots to destroy; check snapshot names.`);
    case 'rbd':
      return dieFault(`rbd snapshot '${name}' error: rbd: failed to remove snapshot: (2) No such file or directory`);
  }
}
