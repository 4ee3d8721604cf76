/** Shared by taking, deleting and rolling back a snapshot: steps, locks, disks, and the saved memory. */
import type { Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import { agentEnabled, guestState } from '../../guests/guest.ts';
import { dieFault } from '../../http/response.ts';
import { allocateVolume } from '../../storage/allocate.ts';
import { findVolume, splitVolid, storageConfig, volidOf } from '../../storage/volumes.ts';
import type { QemuProcess, Vm } from '../../world/world.ts';
import { draftOf, loadVm, saveConfig } from '../config/config-file.ts';
import { BOOT_DRIVE_KEYS, isNetKey, isUnusedKey } from '../config/config-keys.ts';
import type { ConfigDraft, MutableSection } from '../config/config-text.ts';
import { withVmLock } from '../config/locking.ts';
import { type Drive, parseDrive } from '../disks/drive.ts';
import { memoryMiB, parseNic } from '../machine.ts';
import { AGENT_PING_WAIT_MS } from '../power/power.ts';

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

/** The disks of a snapshot: without CD-ROMs and the cloud-init drive. */
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

/** Rule [source GC GuestHelpers.pm guest_migration_lock]: keeps migration and replication away, with a wait of 10 s. */
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

/** Rule [source QS QemuMigrate/Helpers.pm check_non_migratable_resources]: what cannot be saved with its memory. */
export function assertSavable(config: Config, withMemory: boolean): void {
  if (!withMemory) return;
  const blockers = ['amd-sev', 'intel-tdx'].filter((key) => config.has(key));
  if ([...config.keys()].some((key) => /^virtiofs\d+$/.test(key))) blockers.push('virtiofs');
  if (blockers.length === 0) return;
  throw dieFault(`Cannot live-migrate, snapshot (with RAM), or hibernate a VM with: ${blockers.join(', ')}`);
}

/** QEMU's error for a command that only Proxmox's patches provide. */
export function missingCommand(vmid: number, command: string): string {
  return `VM ${vmid} qmp command '${command}' failed - The command ${command} has not been found`;
}

/**
 * Rule [recorded run-snapshot-unpatched]: a QEMU without Proxmox's patches fails every snapshot of a running VM; so does the clean-up of
 * the failure, which is why lock, half-made snapshot and state volume stay.
 */
export async function failWithoutPatches(job: SnapshotJob, vm: Vm, process: QemuProcess): Promise<never> {
  if (!vm.config.snapshots.get(job.name)?.has('vmstate')) await freezeOrSay(job, vm, process);
  job.task.log(missingCommand(vm.vmid, 'savevm-end'));
  throw dieFault(missingCommand(vm.vmid, 'query-savevm'));
}

/** Rule [source QS QemuConfig.pm __snapshot_save_vmstate]: room for twice the memory and 500 MiB. */
export async function reserveState(
  job: SnapshotJob,
  vm: Vm,
  process: QemuProcess,
  section: MutableSection,
  storageId = stateStorage(job.runtime, vm.config.current),
): Promise<void> {
  const { runtime, node, vmid, name, task } = job;
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
  const nics = [...process.launched]
    .filter(([key, value]) => isNetKey(key) && parseNic(value)?.get('model') === 'virtio')
    .map(([key]) => key)
    .sort();
  if (nics.length > 0) section.set('running-nets-host-mtu', nics.map((key) => `${key}=1500`).join(','));
}

/** Rule [source QS QemuConfig.pm find_vmstate_storage]: as configured, else where a disk is: shared and files preferred. */
export function stateStorage(runtime: Runtime, config: Config): string {
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

/** Rule [assumed]: memory is saved at this pace, and all of it. */
const SAVE_BYTES_PER_SECOND = 512 * 1024 ** 2;

/** Rule [source QS QemuConfig.pm __snapshot_create_vol_snapshots_hook]: memory is saved, or else file systems are frozen. */
export async function quiesce(
  job: SnapshotJob,
  vm: Vm,
  process: QemuProcess,
  state: string | undefined,
): Promise<void> {
  const { runtime, node, task } = job;
  if (state === undefined) return freezeOrSay(job, vm, process);
  const device = [...process.launched.keys()].find((key) => /^hostpci\d+$/.test(key));
  // Rule [assumed]: QEMU cannot save the state of host devices, and fails with this message.
  if (device !== undefined) {
    throw dieFault(
      `VM ${vm.vmid} qmp command 'savevm-start' failed - State blocked by non-migratable device '${device}'`,
    );
  }
  task.log(`saving VM state and RAM using storage '${splitVolid(state).storage}'`);
  const { totalBytes, seconds } = savingOf(process);
  for (let second = 0; second < seconds; second++) {
    task.log(`${renderBytes(Math.min(totalBytes, second * SAVE_BYTES_PER_SECOND))} in ${second}s`);
    await task.sleep(1000);
  }
  task.log(`completed saving the VM state in ${seconds}s, saved ${renderBytes(totalBytes)}`);
  const volume = findVolume(runtime.world, node, state);
  if (volume) volume.dataBytes = totalBytes;
}

export function savingOf(process: QemuProcess): { readonly totalBytes: number; readonly seconds: number } {
  const totalBytes = memoryMiB(process.launched.get('memory')) * 1024 ** 2;
  return { totalBytes, seconds: Math.ceil(totalBytes / SAVE_BYTES_PER_SECOND) };
}

/** Rule [source PC Format.pm render_bytes]. */
function renderBytes(bytes: number): string {
  const power = bytes > 1023 ? Math.floor(Math.log(bytes) / Math.log(1024)) : 0;
  return `${(bytes / 1024 ** power).toFixed(2)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power] ?? 'PiB'}`;
}

/** Rule [source QS QemuServer/Agent.pm $agent_fmt]: one option under three names. */
const FREEZE_OFF = /(?:^|,)(?:freeze-fs|freeze-fs-on-backup|guest-fsfreeze)=(?:0|off|no|false)(?:,|$)/i;

/** Rule [source QS QemuServer/Agent.pm guest_fs_freeze_applicable]: an agent that does not answer costs 3 s. */
async function freezeOrSay(job: SnapshotJob, vm: Vm, process: QemuProcess): Promise<void> {
  const isOff = FREEZE_OFF.test(vm.config.current.get('agent') ?? '');
  if (isOff || !agentEnabled(vm.config.current)) {
    return job.task.log('skipping guest filesystem freeze - disabled in VM options');
  }
  if (guestState(process, job.runtime.clock.now()).agentAnswers) return;
  await job.task.sleep(AGENT_PING_WAIT_MS);
  job.task.log('skipping guest filesystem freeze - agent configured but not running?');
}
