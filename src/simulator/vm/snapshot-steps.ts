/** What taking, deleting and rolling back a snapshot have in common: their steps, their locks and their disks. */
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import type { Vm } from '../world/world.ts';
import { draftOf, loadVm, saveConfig } from './config-file.ts';
import { BOOT_DRIVE_KEYS, isUnusedKey } from './config-keys.ts';
import type { ConfigDraft, MutableSection } from './config-text.ts';
import { type Drive, parseDrive } from './drive.ts';
import { withVmLock } from './locking.ts';

export type Config = ReadonlyMap<string, string>;

export interface SnapshotJob {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  readonly name: string;
  readonly task: Task;
}

/** Rule [source QS QemuServer/Drive.pm valid_drive_names]: the order in which operations go through the disks. */
export function orderedDrives(config: Config): Drive[] {
  return [...BOOT_DRIVE_KEYS, 'efidisk0', 'tpmstate0'].flatMap((key) => {
    const text = config.get(key);
    return (text === undefined ? undefined : parseDrive(key, text)) ?? [];
  });
}

/** Without CD-ROMs and the cloud-init drive: what a snapshot is made of. */
export const disksOf = (config: Config) => orderedDrives(config).filter((drive) => !drive.isCdrom);

/** One step of an operation: read, change and write under the configuration lock. */
export function step<T>(job: SnapshotJob, work: (vm: Vm) => Promise<T> | T): Promise<T> {
  const { runtime, node, vmid, task } = job;
  return withVmLock(runtime, node, vmid, { task }, () => work(loadVm(runtime.world, node, vmid)));
}

export function change<T>(vm: Vm, work: (draft: ConfigDraft) => T): T {
  const draft = draftOf(vm.config);
  const result = work(draft);
  saveConfig(vm, draft);
  return result;
}

/** Rule [source GC AbstractConfig.pm __snapshot_copy_config]: description, lock and unused volumes are not part of it. */
export function snapshotCopy(config: Config): MutableSection {
  const left = new Set(['snapstate', 'snaptime', 'vmstate', 'lock', 'description']);
  return new Map([...config].filter(([key]) => !left.has(key) && !isUnusedKey(key)));
}

export function sectionOf(draft: ConfigDraft, name: string): MutableSection {
  const section = draft.snapshots.get(name);
  if (!section) throw dieFault(`snapshot '${name}' does not exist`);
  return section;
}

/** Rule [source GC GuestHelpers.pm guest_migration_lock]: keeps migration and replication away, 10 s of patience. */
const MIGRATION_LOCK_WAIT_MS = 10_000;

export function migrationLockFile(job: SnapshotJob): string {
  return `/var/lock/pve-manager/pve-migrate-${job.vmid}`;
}

export async function acquireMigrationLock(job: SnapshotJob): Promise<(() => void) | undefined> {
  const { runtime, node, task } = job;
  const name = `${node}:${migrationLockFile(job)}`;
  const mustWait = !runtime.locks.isFree(name, 'exclusive');
  if (mustWait) task.log('trying to acquire lock...');
  const release = await runtime.locks.acquire(name, 'exclusive', MIGRATION_LOCK_WAIT_MS);
  if (mustWait && release) task.log(' OK');
  return release;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trimEnd() : String(error);
}
