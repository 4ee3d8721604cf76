/** Suspends a VM to disk: saves the memory to a volume, ends the process, and the next start resumes from there. */
import type { Runtime } from '../../core/runtime.ts';
import { dieFault } from '../../http/response.ts';
import { freeVolume } from '../../storage/allocate.ts';
import { findVolume } from '../../storage/volumes.ts';
import type { Vm } from '../../world/world.ts';
import { checkLock, draftOf, loadVm, saveConfig } from '../config/config-file.ts';
import { withVmLock } from '../config/locking.ts';
import { assertSavable, missingCommand, reserveState, type SnapshotJob, savingOf } from '../snapshots/steps.ts';
import { endProcess } from './power.ts';
import type { PowerRequest } from './suspend.ts';

const SAVED_STATE_KEYS = ['vmstate', 'running-nets-host-mtu', 'runningmachine', 'runningcpu'];

/** Rule [source QS QemuServer/RunState.pm vm_suspend]: reserve, save, end; a failure keeps the lock as a warning. */
export async function hibernateVm(runtime: Runtime, request: PowerRequest, storageId: string): Promise<void> {
  const { node, vmid, task } = request;
  const locked = <T>(work: (vm: Vm) => Promise<T> | T) =>
    withVmLock(runtime, node, vmid, { task }, () => work(loadVm(runtime.world, node, vmid)));
  const job: SnapshotJob = { runtime, node, vmid, task, name: `suspend-${dateOf(runtime)}` };
  const process = await locked(async (vm) => {
    const isBackup = vm.config.current.get('lock') === 'backup';
    if (!request.skipLock) checkLock(vm, ['backup']);
    if (isBackup) throw dieFault('cannot suspend to disk during backup');
    assertSavable(vm.config.current, true);
    if (!vm.process) throw dieFault(`cannot obtain PID for VM ${vmid}!`);
    const draft = draftOf(vm.config);
    draft.current.set('lock', 'suspending');
    await reserveState(job, vm, vm.process, draft.current, storageId);
    saveConfig(vm, draft);
    return vm.process;
  });
  if (!runtime.world.version.qemuPatched) {
    await locked((vm) => forgetReservation(runtime, vm, request));
    throw dieFault(missingCommand(vmid, 'savevm-start'));
  }
  const { totalBytes, seconds } = savingOf(process);
  await task.sleep(seconds * 1000);
  task.log('State saved, quitting');
  await locked((vm) => {
    if (vm.config.current.get('lock') !== 'suspending') throw dieFault('lock changed unexpectedly');
    const volume = findVolume(runtime.world, node, vm.config.current.get('vmstate') ?? '');
    if (volume) volume.dataBytes = totalBytes;
    endProcess(runtime, vm, process);
    const draft = draftOf(vm.config);
    draft.current.set('lock', 'suspended');
    saveConfig(vm, draft);
  });
}

/** Rule [observed 9.2.11]: without Proxmox's patches the end of saving fails just like its start. */
async function forgetReservation(runtime: Runtime, vm: Vm, { node, vmid, task }: PowerRequest): Promise<void> {
  const log = (line: string) => task.log(line);
  log(missingCommand(vmid, 'savevm-end'));
  const draft = draftOf(vm.config);
  await freeVolume(runtime, { node, volid: draft.current.get('vmstate') ?? '', log });
  for (const key of SAVED_STATE_KEYS) draft.current.delete(key);
  saveConfig(vm, draft);
}

function dateOf(runtime: Runtime): string {
  return new Date(runtime.clock.now()).toISOString().slice(0, 10);
}
