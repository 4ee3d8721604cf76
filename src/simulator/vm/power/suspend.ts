/** Pauses and resumes: the QEMU process stays, and the guest's time stops. */
import type { Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import { resumeInstallation } from '../../guests/installation.ts';
import { dieFault } from '../../http/response.ts';
import type { QemuProcess, Vm } from '../../world/world.ts';
import { checkLock, isTemplate, loadVm } from '../config/config-file.ts';
import { withVmLock } from '../config/locking.ts';

export interface PowerRequest {
  readonly node: string;
  readonly vmid: number;
  readonly task: Task;
  /** Real root may ignore the `lock` property. */
  readonly skipLock?: boolean;
}

const pausedSince = new WeakMap<QemuProcess, number>();

/** Rule [source QS QemuServer/RunState.pm vm_suspend]: pausing is allowed during a backup. */
export async function pauseVm(runtime: Runtime, request: PowerRequest): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, () => {
    const vm = loadVm(runtime.world, node, vmid);
    if (!request.skipLock) checkLock(vm, ['backup']);
    if (!vm.process) throw dieFault(`VM ${vmid} not running`);
    suspendProcess(runtime, vm.process, 'paused');
  });
}

/** Rule [source QS QemuServer/RunState.pm vm_resume]: resuming a running VM succeeds. */
export async function resumeVm(runtime: Runtime, request: PowerRequest): Promise<void> {
  const { node, vmid, task } = request;
  await withVmLock(runtime, node, vmid, { task }, () => {
    const vm = loadVm(runtime.world, node, vmid);
    if (!vm.process) throw dieFault(`VM ${vmid} not running`);
    if (isTemplate(vm.config.current)) throw dieFault(`VM ${vmid} is a template and cannot be resumed!`);
    if (vm.process.qmpStatus === 'running') return;
    if (!request.skipLock) checkLock(vm, ['backup']);
    resumeProcess(runtime, vm.process);
  });
}

export function suspendProcess(runtime: Runtime, process: QemuProcess, qmpStatus: 'paused' | 'suspended'): void {
  if (process.qmpStatus !== 'running') return;
  process.qmpStatus = qmpStatus;
  pausedSince.set(process, runtime.clock.now());
}

/** The guest's time stopped, so its boot shifts accordingly. */
export function resumeProcess(runtime: Runtime, process: QemuProcess): void {
  const since = pausedSince.get(process);
  if (since !== undefined) process.guestBootedAt += runtime.clock.now() - since;
  pausedSince.delete(process);
  process.qmpStatus = 'running';
  resumeInstallation(process);
}

/** Rule [source QS QemuServer.pm vm_is_paused]. */
export function isPaused(vm: Vm | undefined): boolean {
  return ['paused', 'prelaunch', 'suspended'].includes(vm?.process?.qmpStatus ?? '');
}
