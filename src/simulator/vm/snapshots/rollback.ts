/** Rolls back to a snapshot: the disks first, then the configuration, then, if it was saved, the memory. */
import { randomUuid } from '../../../base/random.ts';
import { dieFault } from '../../http/response.ts';
import { freeVolume } from '../../storage/allocate.ts';
import { assertRollbackPossible, rollbackVolume } from '../../storage/snapshots.ts';
import type { Vm } from '../../world/world.ts';
import { checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../config/config-file.ts';
import { isUnusedKey } from '../config/config-keys.ts';
import type { Drive } from '../disks/drive.ts';
import { startVm, stopVm } from '../power/power.ts';
import { addUnused } from '../update/pending.ts';
import {
  acquireMigrationLock,
  type Config,
  change,
  disksOf,
  migrationLockFile,
  orderedDrives,
  type SnapshotJob,
  snapshotCopy,
  step,
} from './steps.ts';

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
  // Rule [assumed]: with its memory restored the guest resumes where it was: booted.
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
