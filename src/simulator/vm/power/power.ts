/**
 * Power: starts and ends the QEMU process of a VM, for a task, for the guest itself or for the server's own clean-up.
 * Everything here holds the VM's lock for its whole duration, as the real server does, which makes impatient clients
 * fail.
 */
import { randomInteger } from '../../../base/random.ts';
import type { Runtime } from '../../core/runtime.ts';
import { observeStatistics } from '../../core/statistics.ts';
import type { Task } from '../../core/tasks.ts';
import { agentEnabled, guestState } from '../../guests/guest.ts';
import { followInstallation } from '../../guests/installation.ts';
import { assertLaunchable } from '../../guests/launch.ts';
import { dieFault } from '../../http/response.ts';
import { freeVolume } from '../../storage/allocate.ts';
import type { QemuProcess, Vm } from '../../world/world.ts';
import { applyCloudInit } from '../cloudinit.ts';
import { assertVmExists, checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../config/config-file.ts';
import { withVmLock } from '../config/locking.ts';
import { drivesOf } from '../disks/drive.ts';
import { applyPending } from '../update/pending.ts';
import { newQemuProcess } from './process.ts';
import { type PowerRequest, resumeProcess } from './suspend.ts';

export interface StopRequest extends PowerRequest {
  readonly timeoutSeconds?: number | undefined;
  /** Kill the VM if it does not stop in time. */
  readonly force?: boolean;
}

/** Rule [recorded run-start-stop]: QEMU needs 0.3 to 1 s to come up, most of it for NICs and drives. */
const LAUNCH_MS = 220;
const LAUNCH_NIC_MS = 350;
const LAUNCH_DRIVE_MS = 120;
/** Rule [source QS QemuServer/Agent.pm qga_check_running]. */
export const AGENT_PING_WAIT_MS = 3_000;
const SECOND_MS = 1_000;
const DEFAULT_STOP_SECONDS = 60;
const CLEANUP_WAIT_MS = 60_000;
const CLEANUP_PATIENCE_SECONDS = 30;

const rebootRequests = new WeakSet<Vm>();
const poweringOff = new WeakSet<QemuProcess>();

/** Rule [source QS QemuServer.pm vm_start]: template, lock, running — in this order. */
export async function startVm(runtime: Runtime, request: PowerRequest): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, async () => {
    const vm = loadVm(runtime.world, node, vmid);
    const lock = vm.config.current.get('lock');
    if (isTemplate(vm.config.current)) throw dieFault("you can't start a vm if it's a template");
    if (lock === 'backup' && vm.process) return resumeProcess(runtime, vm.process);
    if (!request.skipLock) checkLock(vm, ['suspended']);
    if (vm.process) throw dieFault(`VM ${vmid} already running`);
    await launch(runtime, vm, task, lock === 'suspended' || vm.config.current.has('vmstate'));
  });
}

async function launch(runtime: Runtime, vm: Vm, task: Task, isResume: boolean): Promise<void> {
  rebootRequests.delete(vm);
  const hasPending = vm.config.pending.size > 0 || vm.config.pendingDeletes.size > 0;
  if (hasPending && !isResume) await applyPending(runtime, vm, (line) => task.log(line));
  await generateCloudInitImage(runtime, vm, task);
  if (isResume) task.log('Resuming suspended VM');
  assertLaunchable(runtime, vm, task);
  await task.sleep(launchMs(vm));
  observeStatistics(runtime);
  const process = newQemuProcess(runtime.world, vm, {
    pid: runtime.tasks.nextPid(),
    startedAt: runtime.clock.now(),
  });
  vm.process = process;
  followInstallation(runtime, vm, process, () => endProcess(runtime, vm, process));
  runtime.onPowerChange?.(vm);
  if (isResume) await forgetSavedState(runtime, vm, task);
}

/** Rule [recorded guest-agent]: the image is regenerated at every start, and the log says so. */
async function generateCloudInitImage(runtime: Runtime, vm: Vm, task: Task): Promise<void> {
  const draft = draftOf(vm.config);
  const log = (line: string) => task.log(line);
  await applyCloudInit({ runtime, node: vm.node, vmid: vm.vmid, log }, draft);
  if (draft.cloudInit === undefined && vm.config.cloudInit) saveConfig(vm, draft);
}

function launchMs(vm: Vm): number {
  const nics = [...vm.config.current.keys()].filter((key) => /^net\d+$/.test(key)).length;
  return LAUNCH_MS + nics * LAUNCH_NIC_MS + drivesOf(vm.config.current).length * LAUNCH_DRIVE_MS;
}

async function forgetSavedState(runtime: Runtime, vm: Vm, task: Task): Promise<void> {
  const log = (line: string) => task.log(line);
  log('Resumed VM, removing state');
  const draft = draftOf(vm.config);
  const state = draft.current.get('vmstate');
  if (state) await freeVolume(runtime, { node: vm.node, volid: state, log });
  for (const key of ['lock', 'vmstate', 'running-nets-host-mtu', 'runningmachine', 'runningcpu'])
    draft.current.delete(key);
  saveConfig(vm, draft);
}

export async function stopVm(runtime: Runtime, request: StopRequest): Promise<void> {
  await endVm(runtime, { ...request, force: true }, 'quit');
}

export async function shutdownVm(runtime: Runtime, request: StopRequest): Promise<void> {
  await endVm(runtime, request, 'shutdown');
}

/** Rule [recorded run-shutdown-timeout]: the task ends when the guest is down; the server's clean-up starts it again. */
export async function rebootVm(runtime: Runtime, request: StopRequest): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, async () => {
    const vm = assertVmExists(runtime.world, node, vmid);
    if (!vm.process) return;
    rebootRequests.add(vm);
    try {
      await endProcessOf(runtime, vm, request, 'shutdown');
    } catch (error) {
      rebootRequests.delete(vm);
      throw error;
    }
  });
}

/** Rule [recorded run-start-stop]: stopping a stopped VM succeeds. */
async function endVm(runtime: Runtime, request: StopRequest, how: 'quit' | 'shutdown'): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, async () => {
    const vm = assertVmExists(runtime.world, node, vmid);
    if (vm.process) await endProcessOf(runtime, vm, request, how);
  });
}

/** Rule [source QS QemuServer.pm _do_vm_stop]: ask, look once a second, then SIGTERM, look again, then SIGKILL. */
async function endProcessOf(runtime: Runtime, vm: Vm, request: StopRequest, how: 'quit' | 'shutdown'): Promise<void> {
  const process = vm.process;
  const { task } = request;
  if (!request.skipLock) checkLock(vm);
  if (!process) return;
  const seconds = request.timeoutSeconds ?? (how === 'shutdown' ? shutdownSeconds(vm) : DEFAULT_STOP_SECONDS);
  if (how === 'quit') quit(runtime, vm, process);
  else await askGuestToShutDown(runtime, vm, process, task);

  if (!(await isGoneWithin(vm, process, seconds, task))) {
    if (!request.force) throw dieFault('VM quit/powerdown failed - got timeout');
    task.log('VM still running - terminating now with SIGTERM');
    quit(runtime, vm, process);
    await isGoneWithin(vm, process, 10, task);
  }
  // Rule [source QS QemuServer.pm vm_stop_cleanup]: a stop through the API applies pending changes.
  await applyPending(runtime, vm, (line) => task.log(line));
}

/** Rule [source QS QemuServer.pm _do_vm_stop]: without a time-out the `down=` of `startup` counts, else 60 s. */
function shutdownSeconds(vm: Vm): number {
  const down = /(?:^|,)down=(\d+)/.exec(vm.config.current.get('startup') ?? '')?.[1];
  return Number(down ?? 0) || DEFAULT_STOP_SECONDS;
}

/** Counts down in whole seconds like the server's loop, so a timeout of 0 does not wait at all. */
async function isGoneWithin(vm: Vm, process: QemuProcess, seconds: number, task: Task): Promise<boolean> {
  let count = 0;
  for (; count < seconds && vm.process === process; count++) await task.sleep(SECOND_MS);
  return count < seconds;
}

/** Rule [recorded run-start-stop]: QEMU sometimes is gone before the first look and sometimes costs a second. */
function quit(runtime: Runtime, vm: Vm, process: QemuProcess): void {
  if (runtime.random.next() < 0.5) endProcess(runtime, vm, process);
  else void runtime.clock.sleep(randomInteger(runtime.random, 30, 300)).then(() => endProcess(runtime, vm, process));
}

/** Rule [source QS QemuServer.pm _do_vm_stop]: through the agent if one answers within 3 s, else by the power button. */
async function askGuestToShutDown(runtime: Runtime, vm: Vm, process: QemuProcess, task: Task): Promise<void> {
  if (agentEnabled(vm.config.current) && !guestState(process, runtime.clock.now()).agentAnswers) {
    await task.sleep(AGENT_PING_WAIT_MS);
    if (!guestState(process, runtime.clock.now()).agentAnswers) {
      task.log(`QEMU Guest Agent is not running - VM ${vm.vmid} qga command 'guest-ping' failed - got timeout`);
    }
  }
  pressPowerButton(runtime, vm, process);
}

/** The guest shuts down at its own pace, whether or not a task still waits for it. */
export function pressPowerButton(runtime: Runtime, vm: Vm, process: QemuProcess): void {
  const shutdownMs = process.guest?.shutdownMs ?? 'ignored';
  if (shutdownMs === 'ignored' || poweringOff.has(process)) return;
  if (!guestState(process, runtime.clock.now()).booted) return;
  poweringOff.add(process);
  void runtime.clock.sleep(shutdownMs).then(() => endProcess(runtime, vm, process));
}

/** The process has ended, for any reason. */
export function endProcess(runtime: Runtime, vm: Vm, process: QemuProcess): void {
  if (vm.process !== process) return;
  observeStatistics(runtime);
  vm.process = undefined;
  runtime.onPowerChange?.(vm);
  void cleanUp(runtime, vm);
}

/**
 * Rule [source QS CLI/qm.pm cleanup]: after every stop the server cleans up in a separate process. It waits for the
 * lock; if the VM runs again then, it keeps the lock for up to 30 s, waiting for a stop that does not come. That is why
 * `stop`, immediately `start`, then any other request may fail with a lock timeout.
 */
async function cleanUp(runtime: Runtime, vm: Vm): Promise<void> {
  await runtime.clock.sleep(randomInteger(runtime.random, 60, 250));
  const isThere = () => runtime.world.vms.get(vm.vmid) === vm;
  if (!isThere()) return;
  const { node, vmid } = vm;
  const mustRestart = await withVmLock(runtime, node, vmid, { waitMs: CLEANUP_WAIT_MS }, async () => {
    for (let second = 0; vm.process && second < CLEANUP_PATIENCE_SECONDS; second++)
      await runtime.clock.sleep(SECOND_MS);
    return !vm.process && rebootRequests.delete(vm);
  }).catch(() => false);
  // Rule [recorded run-shutdown-timeout]: the restart is a task of root@pam, whichever user requested the reboot.
  if (mustRestart && isThere()) {
    runtime.tasks.fork(node, 'qmstart', String(vmid), 'root@pam', (task) => startVm(runtime, { node, vmid, task }));
  }
}

/** Rule [source QS QemuServer.pm vm_reset]: the same QEMU process boots again, with the configuration it was started with. */
export async function resetVm(runtime: Runtime, request: PowerRequest): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, () => {
    const vm = loadVm(runtime.world, node, vmid);
    if (!request.skipLock) checkLock(vm);
    if (!vm.process) throw dieFault(`VM ${vmid} not running`);
    vm.process.guestBootedAt = runtime.clock.now();
    vm.process.executions.clear();
  });
}
