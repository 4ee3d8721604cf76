/** /nodes/{node}/qemu (list) and …/{vmid}/status: the state of a VM, and its power actions. */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { requestHaStart, requestHaStop } from '../../../ha/requests.ts';
import { isHaManaged } from '../../../ha/resources.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { assertVmExists, findVm, loadVm } from '../../../vm/config/config-file.ts';
import { hibernateVm } from '../../../vm/power/hibernate.ts';
import { rebootVm, resetVm, shutdownVm, startVm, stopVm } from '../../../vm/power/power.ts';
import { currentVmStatus, fullVmStatus, type VmStatus, vmStatus } from '../../../vm/power/status.ts';
import { isPaused, type PowerRequest, pauseVm, resumeVm } from '../../../vm/power/suspend.ts';
import { stateStorage } from '../../../vm/snapshots/steps.ts';
import type { Vm } from '../../../world/world.ts';
import { indexOf } from '../../indexes.ts';

export const statusRoutes: Routes = {
  'GET /nodes/{node}/qemu': listVms,
  'GET /nodes/{node}/qemu/{vmid}/status': statusIndex,
  'GET /nodes/{node}/qemu/{vmid}/status/current': (call) =>
    currentVmStatus(call.runtime, loadVm(call.runtime.world, call.node, call.params.vmid)),
  'POST /nodes/{node}/qemu/{vmid}/status/start': start,
  'POST /nodes/{node}/qemu/{vmid}/status/stop': stop,
  'POST /nodes/{node}/qemu/{vmid}/status/shutdown': shutdown,
  'POST /nodes/{node}/qemu/{vmid}/status/reboot': reboot,
  'POST /nodes/{node}/qemu/{vmid}/status/reset': reset,
  'POST /nodes/{node}/qemu/{vmid}/status/suspend': suspend,
  'POST /nodes/{node}/qemu/{vmid}/status/resume': resume,
};

type PowerCall = Call<{ readonly vmid: number; readonly skiplock?: boolean }>;

/** Rule [recorded perm-readonly-checks]: VMs that the caller may not see are silently left out. */
function listVms(call: CallTo<'GET /nodes/{node}/qemu'>): VmStatus[] {
  const { runtime } = call;
  const statusOf = call.params.full ? fullVmStatus : vmStatus;
  const shown: VmStatus[] = [];
  for (const vm of runtime.world.vms.values()) {
    if (vm.node === call.node && call.may(`/vms/${vm.vmid}`, ['VM.Audit'])) shown.push(statusOf(runtime, vm));
  }
  return shown;
}

function statusIndex(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/status'>): unknown {
  loadVm(call.runtime.world, call.node, call.params.vmid);
  return indexOf('subdir', ['current', 'start', 'stop', 'reset', 'shutdown', 'suspend', 'reboot']);
}

/** Rule [recorded skiplock]: options for real root; a token of root is not root. */
function refuseUnlessRoot(call: Call, names: readonly string[]): void {
  for (const name of names) {
    const value = call.texts[name] ?? '';
    if (value !== '' && value !== '0' && !call.caller.isRoot) {
      throw paramFault({ [name]: 'Only root may use this option.' });
    }
  }
}

/** Rule [recorded unknown-vm]: start, stop and shutdown return a UPID even for a VM that does not exist. */
function start(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/start'>): string {
  refuseUnlessRoot(call, ['stateuri', 'skiplock', 'migratedfrom', 'migration_type', 'migration_network']);
  refuseUnlessRoot(call, ['targetstorage', 'force-cpu', 'with-conntrack-state', 'nets-host-mtu']);
  if (isHaManaged(call.runtime.world, call.params.vmid) && !call.params.stateuri) {
    return forkPower(call, 'hastart', requestHaStart);
  }
  return forkPower(call, 'qmstart', startVm);
}

function stop(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/stop'>): string {
  refuseUnlessRoot(call, ['skiplock', 'keepActive', 'migratedfrom']);
  const timeoutSeconds = call.params.timeout;
  if (isHaManaged(call.runtime.world, call.params.vmid)) {
    // Rule [recorded ha-power]: only the manager decides about shutdowns that it began.
    if (call.params['overrule-shutdown']) {
      throw paramFault({ 'overrule-shutdown': 'Not applicable for HA resources.' });
    }
    return forkPower(call, 'hastop', (runtime, request) => requestHaStop(runtime, request, 0));
  }
  return forkPower(call, 'qmstop', async (runtime, request) => {
    if (call.params['overrule-shutdown']) await abortShutdowns(call, request);
    await stopVm(runtime, { ...request, timeoutSeconds });
  });
}

/** Rule [source GC GuestHelpers.pm abort_guest_tasks]: the caller's own tasks, or all with Sys.Modify on the node. */
async function abortShutdowns(call: Call, request: PowerRequest): Promise<void> {
  const { tasks, world } = call.runtime;
  const mayAbortAll = call.may(`/nodes/${call.node}`, ['Sys.Modify']);
  const aborted = [...world.tasks.values()].filter(
    (task) =>
      task.type === 'qmshutdown' &&
      task.node === call.node &&
      task.id === String(request.vmid) &&
      tasks.isRunning(task.upid) &&
      (mayAbortAll || task.user === call.caller.authid),
  );
  for (const task of aborted) await tasks.stop(task.upid);
  if (aborted.length > 0) {
    request.task.log(`overruled qmshutdown tasks: ${aborted.map((task) => task.upid).join(', ')}`);
  }
}

/** Rule [source QS API2/Qemu.pm vm_shutdown]: a paused guest does not react, so only force helps. */
function shutdown(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/shutdown'>): string {
  refuseUnlessRoot(call, ['skiplock', 'keepActive']);
  const force = call.params.forceStop ?? false;
  const timeoutSeconds = call.params.timeout;
  const paused = isPaused(findVm(call.runtime.world, call.node, call.params.vmid));
  if (paused && !force) throw dieFault('VM is paused - cannot shutdown');
  if (isHaManaged(call.runtime.world, call.params.vmid)) {
    return forkPower(call, 'hastop', (runtime, request) => requestHaStop(runtime, request, timeoutSeconds ?? 60));
  }
  const end = paused ? stopVm : shutdownVm;
  return forkPower(call, 'qmshutdown', (runtime, request) => end(runtime, { ...request, timeoutSeconds, force }));
}

function reboot(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/reboot'>): string {
  if (isPaused(findVm(call.runtime.world, call.node, call.params.vmid))) {
    throw dieFault('VM is paused - cannot shutdown');
  }
  runningVm(call);
  const timeoutSeconds = call.params.timeout;
  return forkPower(call, 'qmreboot', (runtime, request) => rebootVm(runtime, { ...request, timeoutSeconds }));
}

function reset(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/reset'>): string {
  refuseUnlessRoot(call, ['skiplock']);
  runningVm(call);
  return forkPower(call, 'qmreset', resetVm);
}

/** Rule [source QS API2/Qemu.pm vm_suspend]: pausing, or saving to disk, which is another kind of task. */
function suspend(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/suspend'>): string {
  refuseUnlessRoot(call, ['skiplock']);
  const vm = runningVm(call);
  if (!call.params.todisk) return forkPower(call, 'qmpause', pauseVm);
  // Rule [recorded ha-power]: a VM saved to disk is not running, which the manager does not support.
  if (isHaManaged(call.runtime.world, vm.vmid)) throw dieFault('Cannot suspend HA managed VM to disk');
  call.require(`/vms/${vm.vmid}`, ['VM.Config.Disk']);
  if ([...vm.config.current.keys()].some((key) => /^hostpci\d+$/.test(key))) {
    throw dieFault(
      'cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state',
    );
  }
  const storage = call.params.statestorage || stateStorage(call.runtime, vm.config.current);
  call.require(`/storage/${storage}`, ['Datastore.AllocateSpace']);
  return forkPower(call, 'qmsuspend', (runtime, request) => hibernateVm(runtime, request, storage));
}

/** Rule [source QS API2/Qemu.pm vm_resume]: a VM suspended to disk is resumed by starting it. */
function resume(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/status/resume'>): string {
  refuseUnlessRoot(call, ['skiplock', 'nocheck']);
  const vm = findVm(call.runtime.world, call.node, call.params.vmid);
  if (vm?.config.current.get('lock') === 'suspended') return forkPower(call, 'qmresume', startVm);
  runningVm(call);
  return forkPower(call, 'qmresume', resumeVm);
}

/** Rule [recorded run-start-stop]: these need a running VM and fail immediately otherwise. */
function runningVm(call: PowerCall): Vm {
  const vm = assertVmExists(call.runtime.world, call.node, call.params.vmid);
  if (!vm.process) throw dieFault(`VM ${vm.vmid} not running`);
  return vm;
}

function forkPower(
  call: PowerCall,
  type: string,
  act: (runtime: Call['runtime'], request: PowerRequest) => Promise<void>,
): string {
  const { runtime, node } = call;
  const { vmid, skiplock: skipLock = false } = call.params;
  return call.fork(type, String(vmid), (task) => act(runtime, { node, vmid, task, skipLock }));
}
