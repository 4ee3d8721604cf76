/**
 * The worker of a migration: locks the VM, copies local volumes, moves the configuration, and the process if there is
 * one.
 */
import type { Runtime } from '../core/runtime.ts';
import { type Task, unlessKilled } from '../core/tasks.ts';
import { memoryBytes, storageOfFile } from '../guests/launch.ts';
import { dieFault } from '../http/response.ts';
import { addVolume, removeVolume, volumesOf } from '../storage/catalogue.ts';
import { findVolume, isBaseInUse, parseVolumeName, storageConfig, volidOf } from '../storage/volumes.ts';
import type { Vm, Volume } from '../world/world.ts';
import { checkLock, draftOf, loadVm, saveConfig } from './config/config-file.ts';
import { withVmLock } from './config/locking.ts';
import { type Drive, drivesOf, printDrive, withOptions } from './disks/drive.ts';
import { checkLocalResources } from './local-resources.ts';

export interface MigrationRequest {
  readonly node: string;
  readonly vmid: number;
  readonly target: string;
  readonly task: Task;
  readonly withLocalDisks: boolean;
  readonly targetStorageOf: (storageId: string) => string;
}

/** Rule [assumed]: memory travels at 1 GB/s, and starting QEMU on the other side takes 2 s. */
const MEMORY_BYTES_PER_SECOND = 1_000_000_000;
const TARGET_START_MS = 2_000;
const MOVE_CONFIG_MS = 300;

/** Rule [source GC AbstractMigrate.pm migrate]: the lock is held throughout; every line carries the time. */
export async function migrateVm(runtime: Runtime, request: MigrationRequest): Promise<void> {
  const startedAt = runtime.clock.now();
  const duration = () => new Date(runtime.clock.now() - startedAt).toISOString().slice(11, 19);
  const log = (line: string) => request.task.log(`${timestamp(runtime)} ${line}`);
  try {
    await withVmLock(runtime, request.node, request.vmid, { task: request.task }, () => move(runtime, request, log));
  } catch (error) {
    unlessKilled(request.task);
    const reason = error instanceof Error ? error.message.trimEnd() : String(error);
    log(`ERROR: migration aborted (duration ${duration()}): ${reason}`);
    throw dieFault('migration aborted');
  }
  log(`migration finished successfully (duration ${duration()})`);
}

async function move(runtime: Runtime, request: MigrationRequest, log: (line: string) => void): Promise<void> {
  const { world } = runtime;
  const { node, vmid, target, task } = request;
  const vm = loadVm(world, node, vmid);
  checkLock(vm);
  checkLocalResources(world, vm, target);
  if (!world.nodes.get(target)?.online) throw dieFault("Can't connect to destination address using public key");
  log(`starting migration of VM ${vmid} to node '${target}' (${world.nodes.get(target)?.address})`);
  setLock(vm, 'migrate');
  const copied: { readonly drive: Drive; readonly from: Volume; readonly to: Volume }[] = [];
  try {
    const local = localVolumes(runtime, vm, request, log);
    if (local.length > 0) log('copying local disk images');
    for (const { drive, volume } of local) {
      const storage = storageConfig(world, request.targetStorageOf(volume.storage));
      if (volumesOf(storage, target).has(volume.name)) {
        throw dieFault(`storage migration for '${volidOf(volume)}' to storage '${storage.id}' failed - volume exists`);
      }
      await task.sleep(Math.ceil((volume.dataBytes / storage.bandwidthBytesPerSecond) * 1000));
      const copy: Volume = { ...volume, storage: storage.id, snapshots: new Map(volume.snapshots) };
      addVolume(storage, target, copy);
      copied.push({ drive, from: volume, to: copy });
      log(`volume '${volidOf(volume)}' is '${volidOf(copy)}' on the target`);
    }
    if (vm.process) {
      log('starting VM on remote node');
      await task.sleep(TARGET_START_MS);
      log('starting online/live migration');
      await task.sleep(Math.ceil((memoryBytes(vm.config.current) * 1000) / MEMORY_BYTES_PER_SECOND));
      log('migration status: completed');
    }
    await task.sleep(MOVE_CONFIG_MS);
  } catch (error) {
    unlessKilled(task);
    for (const { to } of copied) removeVolume(storageConfig(world, to.storage), target, to);
    setLock(vm, undefined);
    throw error;
  }
  const draft = draftOf(vm.config);
  for (const { drive, to } of copied) draft.current.set(drive.key, printDrive(withOptions(drive, {}, volidOf(to))));
  draft.current.delete('lock');
  saveConfig(vm, draft);
  for (const { from } of copied) removeVolume(storageConfig(world, from.storage), node, from);
  vm.node = target;
}

/** Rule [source QS QemuMigrate.pm scan_local_volumes]: all problems are listed before it gives up. */
function localVolumes(
  runtime: Runtime,
  vm: Vm,
  request: MigrationRequest,
  log: (line: string) => void,
): { drive: Drive; volume: Volume }[] {
  const { world } = runtime;
  const found: { drive: Drive; volume: Volume }[] = [];
  const problems: string[] = [];
  for (const drive of drivesOf(vm.config.current, { unused: true })) {
    const storageId = storageOfFile(drive.file);
    if (storageId === undefined || storageConfig(world, storageId).shared) continue;
    const volume = findVolume(world, vm.node, drive.file);
    if (!volume) continue;
    const isUnused = drive.key.startsWith('unused');
    const problem = problemOf(runtime, vm, request, drive);
    if (problem !== undefined) problems.push(`can't migrate local disk '${drive.file}': ${problem}`);
    const kind = drive.isCloudInit ? 'generated disk' : 'local disk';
    log(
      `found ${kind} '${drive.file}' (${drive.isCloudInit ? 'in current VM config' : isUnused ? 'unused' : 'attached'})`,
    );
    found.push({ drive, volume });
  }
  for (const problem of problems) log(problem);
  if (problems.length > 0) throw dieFault("Problem found while scanning volumes - can't migrate VM - check log");
  for (const { volume } of found) {
    const base = parseVolumeName(storageConfig(world, volume.storage), volume.name).base;
    if (base) throw dieFault(`can't migrate '${volidOf(volume)}' as it's a clone of '${base.name}'`);
  }
  return found;
}

function problemOf(runtime: Runtime, vm: Vm, request: MigrationRequest, drive: Drive): string | undefined {
  if (drive.isCdrom && !drive.isCloudInit) return 'local cdrom image';
  if (isBaseInUse(runtime.world, vm.node, drive.file)) return 'referenced by linked clone(s)';
  const isAttached = !drive.key.startsWith('unused') && !drive.isCloudInit;
  if (vm.process && isAttached && !request.withLocalDisks) {
    return "can't live migrate attached local disks without with-local-disks option";
  }
  return undefined;
}

function setLock(vm: Vm, lock: string | undefined): void {
  const draft = draftOf(vm.config);
  if (lock === undefined) draft.current.delete('lock');
  else draft.current.set('lock', lock);
  saveConfig(vm, draft);
}

function timestamp(runtime: Runtime): string {
  return new Date(runtime.clock.now()).toISOString().slice(0, 19).replace('T', ' ');
}
