/**
 * Snapshots of a whole VM: taking, deleting and rolling back. Each is a chain of short steps under the configuration lock,
 * with the `lock` and `snapstate` properties in between telling everybody else that something is going on.
 */
import { randomUuid } from '../../base/random.ts';
import { formatOfKey, parseProperty } from '../../pve/wire/index.ts';
import { nowSeconds, type Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { agentEnabled, guestState } from '../guests/guest.ts';
import { dieFault } from '../http/response.ts';
import { allocateVolume, freeVolume } from '../storage/allocate.ts';
import { hasFeature } from '../storage/features.ts';
import { usesVolumeChain } from '../storage/paths.ts';
import { assertRollbackPossible, deleteVolumeSnapshot, rollbackVolume, snapshotVolume } from '../storage/snapshots.ts';
import { findVolume, splitVolid, storageConfig, volidOf } from '../storage/volumes.ts';
import type { QemuProcess, Vm } from '../world/world.ts';
import { checkLock, draftOf, isTemplate, loadVm, saveConfig } from './config-file.ts';
import { BOOT_DRIVE_KEYS, isNetKey, isUnusedKey } from './config-keys.ts';
import type { ConfigDraft, MutableSection } from './config-text.ts';
import { type Drive, parseDrive } from './drive.ts';
import { withVmLock } from './locking.ts';
import { memoryMiB } from './machine.ts';
import { addUnused } from './pending.ts';
import { AGENT_PING_WAIT_MS, startVm, stopVm } from './power.ts';

type Config = ReadonlyMap<string, string>;

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

const disksOf = (config: Config) => orderedDrives(config).filter((drive) => !drive.isCdrom);

/** Rule [source QS QemuMigrate/Helpers.pm check_non_migratable_resources]: what cannot be saved with its memory. */
export function assertSavable(config: Config, withMemory: boolean): void {
  if (!withMemory) return;
  const blockers = ['amd-sev', 'intel-tdx'].filter((key) => config.has(key));
  if ([...config.keys()].some((key) => /^virtiofs\d+$/.test(key))) blockers.push('virtiofs');
  if (blockers.length === 0) return;
  throw dieFault(`Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: ${blockers.join(', ')}`);
}

/** One step of an operation: read, change and write under the configuration lock. */
function step<T>(job: SnapshotJob, work: (vm: Vm) => Promise<T> | T): Promise<T> {
  const { runtime, node, vmid, task } = job;
  return withVmLock(runtime, node, vmid, { task }, () => work(loadVm(runtime.world, node, vmid)));
}

/** Rule [source GC AbstractConfig.pm snapshot_create]: reserve, snapshot disk after disk, commit; clean up on failure. */
export async function createSnapshot(
  job: SnapshotJob,
  options: { readonly description: string | undefined; readonly withMemory: boolean },
): Promise<void> {
  await step(job, (vm) => prepareSnapshot(job, vm, options));
  const done = new Set<string>();
  try {
    await snapshotDisks(job, done);
  } catch (error) {
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

/** Rule [source GC AbstractConfig.pm __snapshot_copy_config]: description, lock and unused volumes are not part of it. */
function snapshotCopy(config: Config): MutableSection {
  const left = new Set(['snapstate', 'snaptime', 'vmstate', 'lock', 'description']);
  return new Map([...config].filter(([key]) => !left.has(key) && !isUnusedKey(key)));
}

/** Rule [source QS QemuConfig.pm __snapshot_save_vmstate]: room for twice the memory and 500 MiB. */
async function reserveState(job: SnapshotJob, vm: Vm, process: QemuProcess, section: MutableSection): Promise<void> {
  const { runtime, node, vmid, name, task } = job;
  const storageId = stateStorage(runtime, vm.config.current);
  const volume = await allocateVolume(runtime, {
    node,
    storageId,
    vmid,
    format: 'raw',
    name: `vm-${vmid}-state-${name}${storageConfig(runtime.world, storageId).path ? '.raw' : ''}`,
    sizeKiB: (memoryMiB(vm.config.current.get('memory')) * 2 + 500) * 1024,
    log: (line) => task.log(line),
  });
  section.set('vmstate', volidOf(volume));
  // Rule [assumed]: what QEMU would report of itself; only a rollback reads it, and then it is dropped.
  const [machine = 'pc'] = (process.launched.get('machine') ?? 'pc').replace(/^type=/, '').split(',');
  const version = runtime.world.version.qemu.split('.').slice(0, 2).join('.');
  const family = machine === 'q35' ? 'pc-q35' : 'pc-i440fx';
  section.set('runningmachine', machine === 'pc' || machine === 'q35' ? `${family}-${version}+pve0` : machine);
  section.set('runningcpu', (process.launched.get('cpu') ?? 'kvm64').replace(/^cputype=/, '').split(',')[0] ?? 'kvm64');
  const nics = [...process.launched.keys()].filter(isNetKey).sort();
  if (nics.length > 0) section.set('running-nets-host-mtu', nics.map((key) => `${key}=1500`).join(','));
}

/** Rule [source QS QemuConfig.pm find_vmstate_storage]: as configured, else where a disk is: shared and files preferred. */
function stateStorage(runtime: Runtime, config: Config): string {
  const configured = config.get('vmstatestorage');
  if (configured) return configured;
  const ids = new Set(
    disksOf(config).flatMap((drive) => (drive.file.includes(':') ? splitVolid(drive.file).storage : [])),
  );
  const found = new Map<boolean, string>();
  for (const id of [...ids].sort()) {
    const storage = storageConfig(runtime.world, id);
    if (!found.has(storage.shared) || storage.path) found.set(storage.shared, id);
  }
  return found.get(true) ?? found.get(false) ?? 'local';
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

/** Rule [assumed]: memory is saved at this pace, and all of it. */
const SAVE_BYTES_PER_SECOND = 512 * 1024 ** 2;

/** Rule [source QS QemuConfig.pm __snapshot_create_vol_snapshots_hook]: memory is saved, or else file systems are frozen. */
async function quiesce(job: SnapshotJob, vm: Vm, process: QemuProcess, state: string | undefined): Promise<void> {
  const { runtime, node, task } = job;
  if (state === undefined) return freezeOrSay(job, vm, process);
  task.log(`saving VM state and RAM using storage '${splitVolid(state).storage}'`);
  const totalBytes = memoryMiB(process.launched.get('memory')) * 1024 ** 2;
  const seconds = Math.ceil(totalBytes / SAVE_BYTES_PER_SECOND);
  for (let second = 0; second < seconds; second++) {
    task.log(`${mebibytes(Math.min(totalBytes, second * SAVE_BYTES_PER_SECOND))} in ${second}s`);
    await task.sleep(1000);
  }
  task.log(`completed saving the VM state in ${seconds}s, saved ${mebibytes(totalBytes)}`);
  const volume = findVolume(runtime.world, node, state);
  if (volume) volume.dataBytes = totalBytes;
}

const mebibytes = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(2)} MiB`;

/** Rule [source QS QemuServer/Agent.pm guest_fs_freeze_applicable]: an agent that does not answer costs 3 s. */
async function freezeOrSay(job: SnapshotJob, vm: Vm, process: QemuProcess): Promise<void> {
  const agent = vm.config.current.get('agent');
  const format = formatOfKey('agent');
  const parsed = agent !== undefined && format ? parseProperty(format, agent) : undefined;
  if (!agentEnabled(vm.config.current) || (parsed?.ok && parsed.value.get('freeze-fs') === '0')) {
    return job.task.log('skipping guest filesystem freeze - disabled in VM options');
  }
  if (guestState(process, job.runtime.clock.now()).agentAnswers) return;
  await job.task.sleep(AGENT_PING_WAIT_MS);
  job.task.log('skipping guest filesystem freeze - agent configured but not running?');
}

/** Rule [source QS API2/Qemu.pm delsnapshot]: with `force` not even a migration in progress is waited for. */
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

/** The disk is out of the snapshot, but until all are, the section keeps its volume as an unused one. */
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

/** A step of a deletion: the lock must still be ours and the snapshot still be there. */
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

function change<T>(vm: Vm, work: (draft: ConfigDraft) => T): T {
  const draft = draftOf(vm.config);
  const result = work(draft);
  saveConfig(vm, draft);
  return result;
}

/** Rule [source GC AbstractConfig.pm snapshot_rollback]: checks, stop, disks back, then the configuration. */
export async function rollbackSnapshot(job: SnapshotJob): Promise<void> {
  const release = await acquireMigrationLock(job);
  if (!release) throw dieFault(`can't lock file '${migrationLockFile(job)}' - got timeout`);
  try {
    await runRollback(job);
  } finally {
    release();
  }
}

async function runRollback(job: SnapshotJob): Promise<void> {
  const { runtime, node, vmid, name, task } = job;
  const running = await step(job, (vm) => {
    for (const drive of disksOf(rollbackSection(vm, name))) {
      assertRollbackPossible(runtime.world, node, drive.file, name);
    }
    const state = rollbackSection(vm, name).get('snapstate');
    if (state) throw dieFault(`unable to rollback to incomplete snapshot (snapstate = ${state})`);
    checkLock(vm);
    return vm.process !== undefined;
  });
  // Rule [source QS QemuConfig.pm __snapshot_rollback_vm_stop]: a running VM is ended without asking its guest.
  if (running) await stopVm(runtime, { node, vmid, task, timeoutSeconds: 5 });
  const oldMachine = await step(job, (vm) => {
    assertStopped(vm);
    checkLock(vm);
    change(vm, (draft) => draft.current.set('lock', 'rollback'));
    return vm.config.current.get('machine');
  });
  const section = rollbackSection(loadVm(runtime.world, node, vmid), name);
  const log = (line: string) => task.log(line);
  for (const drive of disksOf(section)) await rollbackVolume(runtime, { node, volid: drive.file, snapshot: name, log });
  await step(job, (vm) => applySnapshot(job, vm, oldMachine));
  if (!section.get('vmstate')) return;
  await startVm(runtime, { node, vmid, task });
  // Rule [assumed]: with its memory restored the guest goes on where it was: booted.
  const { process } = loadVm(runtime.world, node, vmid);
  if (process) process.guestBootedAt = 0;
}

function rollbackSection(vm: Vm, name: string): Config {
  if (isTemplate(vm.config.current)) throw dieFault("you can't rollback if vm is a template");
  const section = vm.config.snapshots.get(name);
  if (!section) throw dieFault(`snapshot '${name}' does not exist`);
  return section;
}

function assertStopped(vm: Vm): void {
  if (vm.process) throw dieFault(`unable to rollback vm ${vm.vmid}: vm is running`);
}

/**
 * Rule [source GC AbstractConfig.pm __snapshot_apply_config]: everything comes from the snapshot but description and unused
 * volumes; pending changes are lost; disks the snapshot does not know become unused.
 */
async function applySnapshot(job: SnapshotJob, vm: Vm, oldMachine: string | undefined): Promise<void> {
  const section = rollbackSection(vm, job.name);
  assertStopped(vm);
  const draft = draftOf(vm.config);
  if (draft.current.get('lock') !== 'rollback') throw dieFault('got wrong lock');
  const restored = new Set(orderedDrives(section).map((drive) => drive.file));
  for (const drive of orderedDrives(draft.current)) {
    if (restored.has(drive.file)) continue;
    if (drive.isCloudInit) await dropCloudInit(job, drive);
    else if (!drive.isCdrom) addUnused(draft, drive.file);
  }
  const kept = [...draft.current].filter(([key]) => isUnusedKey(key) || key === 'description');
  draft.current = new Map([...kept, ...snapshotCopy(section), ['parent', job.name]]);
  draft.pending.clear();
  draft.pendingDeletes.clear();
  draft.cloudInit = undefined;
  if (!section.has('runningmachine') && section.has('vmstate') && oldMachine === undefined) {
    draft.current.delete('machine');
  }
  for (const key of ['runningmachine', 'runningcpu', 'running-nets-host-mtu']) draft.current.delete(key);
  // Rule [recorded snapshots]: a new generation id tells the guest that time went backwards.
  const generation = draft.current.get('vmgenid');
  if (generation && generation !== '0') draft.current.set('vmgenid', randomUuid(job.runtime.random));
  saveConfig(vm, draft);
}

async function dropCloudInit(job: SnapshotJob, drive: Drive): Promise<void> {
  const log = (line: string) => job.task.log(line);
  log(`found unused cloudinit disk '${drive.file}', removing it`);
  await freeVolume(job.runtime, { node: job.node, volid: drive.file, log });
}

function sectionOf(draft: ConfigDraft, name: string): MutableSection {
  const section = draft.snapshots.get(name);
  if (!section) throw dieFault(`snapshot '${name}' does not exist`);
  return section;
}

/** Rule [source GC GuestHelpers.pm guest_migration_lock]: keeps migration and replication away, 10 s of patience. */
const MIGRATION_LOCK_WAIT_MS = 10_000;

function migrationLockFile(job: SnapshotJob): string {
  return `/var/lock/pve-manager/pve-migrate-${job.vmid}`;
}

async function acquireMigrationLock(job: SnapshotJob): Promise<(() => void) | undefined> {
  const { runtime, node, task } = job;
  const name = `${node}:${migrationLockFile(job)}`;
  const mustWait = !runtime.locks.isFree(name, 'exclusive');
  if (mustWait) task.log('trying to acquire lock...');
  const release = await runtime.locks.acquire(name, 'exclusive', MIGRATION_LOCK_WAIT_MS);
  if (mustWait && release) task.log(' OK');
  return release;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trimEnd() : String(error);
}
