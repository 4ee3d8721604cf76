/**
 * Snapshots of a whole VM: taking and deleting. Each is a chain of short steps under the configuration lock, with the
 * `lock` and `snapstate` properties in between, which show other clients that a snapshot is being taken.
 */

import { nowSeconds, type Runtime } from '../../core/runtime.ts';
import { unlessKilled } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';
import { freeVolume } from '../../storage/allocate.ts';
import { hasFeature } from '../../storage/features.ts';
import { usesVolumeChain } from '../../storage/paths.ts';
import { deleteVolumeSnapshot, snapshotVolume } from '../../storage/snapshots.ts';
import { splitVolid, storageConfig } from '../../storage/volumes.ts';
import type { Vm } from '../../world/world.ts';
import { checkLock, draftOf, emptyDraft, isTemplate, loadVm, saveConfig } from '../config/config-file.ts';
import type { ConfigDraft, MutableSection } from '../config/config-text.ts';
import type { Drive } from '../disks/drive.ts';
import { addUnused } from '../update/pending.ts';
import {
  acquireMigrationLock,
  assertSavable,
  change,
  disksOf,
  failWithoutPatches,
  messageOf,
  quiesce,
  reserveState,
  type SnapshotJob,
  sectionOf,
  snapshotCopy,
  step,
} from './steps.ts';

/** Rule [source GC AbstractConfig.pm snapshot_create]: reserve, snapshot disk after disk, commit; clean up on failure. */
export async function createSnapshot(
  job: SnapshotJob,
  options: { readonly description: string | undefined; readonly withMemory: boolean },
): Promise<void> {
  await step(job, (vm) => prepareSnapshot(job, vm, options));
  const { runtime, node, vmid } = job;
  const vm = loadVm(runtime.world, node, vmid);
  if (vm.process && !runtime.world.version.qemuPatched) return failWithoutPatches(job, vm, vm.process);
  const done = new Set<string>();
  try {
    await snapshotDisks(job, done);
  } catch (error) {
    unlessKilled(job.task);
    job.task.log('snapshot create failed: starting cleanup');
    await removeSnapshot(job, { force: true, only: done }).catch((failure) => job.task.log(messageOf(failure)));
    throw error;
  }
  await step(job, (vm) => {
    const draft = draftOf(vm.config);
    if (draft.current.get('lock') !== 'snapshot') throw dieFault('missing snapshot lock');
    sectionOf(draft, job.name).delete('snapstate');
    draft.current.delete('lock');
    draft.current.set('parent', job.name);
    saveConfig(vm, draft);
  });
}

/** Rule [source GC AbstractConfig.pm __snapshot_prepare]: template, lock, name, feature — in this order. */
async function prepareSnapshot(
  job: SnapshotJob,
  vm: Vm,
  options: { readonly description: string | undefined; readonly withMemory: boolean },
): Promise<void> {
  const { runtime, node, name, task } = job;
  if (isTemplate(vm.config.current)) throw dieFault("you can't take a snapshot if it's a template");
  checkLock(vm);
  assertSavable(vm.config.current, options.withMemory);
  if (vm.config.snapshots.has(name)) throw dieFault(`snapshot name '${name}' already used`);
  const possible = disksOf(vm.config.current).every((drive) => hasFeature(runtime.world, node, 'snapshot', drive.file));
  if (!possible) throw dieFault('snapshot feature is not available');
  const draft = draftOf(vm.config);
  for (const [child, section] of draft.snapshots) {
    if (section.get('parent') !== name) continue;
    task.log(`deleting parent '${name}' reference from '${child}' to avoid bogus snapshot cycle.`);
    section.delete('parent');
  }
  const section = snapshotCopy(draft.current);
  if (options.withMemory && vm.process) await reserveState(job, vm, vm.process, section);
  section.set('snapstate', 'prepare');
  section.set('snaptime', String(nowSeconds(runtime)));
  if (options.description) section.set('description', options.description);
  draft.snapshots.set(name, section);
  draft.current.set('lock', 'snapshot');
  saveConfig(vm, draft);
}

async function snapshotDisks(job: SnapshotJob, done: Set<string>): Promise<void> {
  const { runtime, node, vmid, name, task } = job;
  const vm = loadVm(runtime.world, node, vmid);
  const section = vm.config.snapshots.get(name) ?? new Map<string, string>();
  if (vm.process) await quiesce(job, vm, vm.process, section.get('vmstate'));
  for (const drive of disksOf(section)) {
    task.log(`snapshotting 'drive-${drive.key}' (${drive.file})`);
    const method = vm.process ? onlineMethod(runtime, drive) : undefined;
    if (method) task.log(`${method} qemu snapshot`);
    const running = method !== undefined;
    await snapshotVolume(runtime, { node, volid: drive.file, snapshot: name, running, log: (line) => task.log(line) });
    done.add(drive.key);
  }
}

/** Rule [source QS QemuServer.pm do_snapshots_type]: of a running VM QEMU itself snapshots qcow2 files and Ceph images. */
function onlineMethod(runtime: Runtime, drive: Drive): 'internal' | 'external' | undefined {
  const { storage: id, name } = splitVolid(drive.file);
  const storage = storageConfig(runtime.world, id);
  if (drive.key === 'tpmstate0') return undefined;
  if (storage.type === 'rbd') return storage.options.get('krbd') === '1' ? undefined : 'internal';
  if (!name.endsWith('.qcow2')) return undefined;
  return usesVolumeChain(storage) ? 'external' : 'internal';
}

/** Rule [source QS API2/Qemu.pm delsnapshot]: with `force` it does not even wait for a running migration. */
export async function deleteSnapshot(job: SnapshotJob, force: boolean): Promise<void> {
  if (force) return removeSnapshot(job, { force });
  const release = await acquireMigrationLock(job);
  if (!release) throw dieFault('Failed to obtain guest migration lock - replication running?');
  try {
    await removeSnapshot(job, { force });
  } finally {
    release();
  }
}

interface Removal {
  readonly force: boolean;
  /** Cleaning up a failed creation: only these disks have a snapshot, and the lock is that of the creation. */
  readonly only?: ReadonlySet<string>;
}

/** Rule [source GC AbstractConfig.pm snapshot_delete]: disk by disk, so that an interrupted deletion can be resumed. */
async function removeSnapshot(job: SnapshotJob, { force, only }: Removal): Promise<void> {
  const { runtime, node, vmid, name, task } = job;
  const before = loadVm(runtime.world, node, vmid);
  if (!before.config.snapshots.has(name)) throw dieFault(`snapshot '${name}' does not exist`);
  const lock = only ? 'snapshot' : 'snapshot-delete';
  if (!only) {
    await step(job, (vm) => {
      checkLock(vm);
      change(vm, (draft) => draft.current.set('lock', lock));
    });
  }
  const section = await locked(job, lock, (draft, own) => {
    if (isTemplate(draft.current)) throw dieFault("you can't delete a snapshot if vm is a template");
    own.set('snapstate', 'delete');
    return new Map(own);
  });
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      unlessKilled(task);
      if (!force) throw error;
      task.log(messageOf(error));
    }
  };
  const log = (line: string) => task.log(line);
  const state = section.get('vmstate');
  if (state) {
    await attempt(() => freeVolume(runtime, { node, volid: state, log }));
    if (!force) await locked(job, lock, (_, own) => own.delete('vmstate'));
  }
  const detached: string[] = [];
  for (const drive of disksOf(section)) {
    if (!only || only.has(drive.key)) {
      await attempt(async () => {
        await deleteVolumeSnapshot(runtime, { node, volid: drive.file, snapshot: name, log });
        detached.push(drive.file);
      });
    }
    if (!force) await locked(job, lock, (_, own) => leaveSection(own, drive));
  }
  await locked(job, lock, (draft, own) => forgetSnapshot(draft, own.get('parent'), name, detached));
}

/** The disk is removed from the snapshot, but until all are, the section keeps its volume as unused. */
function leaveSection(section: MutableSection, drive: Drive): void {
  section.delete(drive.key);
  addUnused({ ...emptyDraft(), current: section }, drive.file);
}

function forgetSnapshot(draft: ConfigDraft, parent: string | undefined, name: string, volumes: string[]): void {
  draft.snapshots.delete(name);
  for (const section of [draft.current, ...draft.snapshots.values()]) {
    if (section.get('parent') !== name) continue;
    if (parent) section.set('parent', parent);
    else section.delete('parent');
  }
  draft.current.delete('lock');
  // Rule [recorded snapshots]: a volume that is attached nowhere stays as `unusedN`; writing drops those still attached.
  for (const volid of volumes) addUnused(draft, volid);
}

/** A step of a deletion: the lock must still be ours, and the snapshot must still exist. */
function locked<T>(
  job: SnapshotJob,
  lock: string,
  work: (draft: ConfigDraft, section: MutableSection) => T,
): Promise<T> {
  return step(job, (vm) =>
    change(vm, (draft) => {
      if (draft.current.get('lock') !== lock) throw dieFault(`encountered invalid lock, expected '${lock}'`);
      return work(draft, sectionOf(draft, job.name));
    }),
  );
}
