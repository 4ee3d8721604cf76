/** A node's resource manager (LRM): starts and stops what the cluster's manager ordered, by tasks of its own. */
import type { Runtime } from '../core/runtime.ts';
import { shutdownVm, startVm, stopVm } from '../vm/power.ts';
import { isPaused } from '../vm/suspend.ts';
import { limitOf } from './resources.ts';
import type { HaService } from './state.ts';

/** Rule [source HA Env/PVE2.pm get_max_workers]: so many at a time. */
const WORKERS = 4;
/** Rule [source HA Resources/PVEVM.pm shutdown]: a stop that names no time is a shutdown with this much, then force. */
const DEFAULT_STOP_SECONDS = 60;
const TASK_OWNER = 'root@pam';

/** Begins what is ordered and not begun; the ends come later, `onResult` says so. */
export function agentRound(runtime: Runtime, node: string, onResult: () => void): void {
  const services = [...runtime.world.ha.services.values()].filter((service) => service.node === node);
  let busy = services.filter((service) => service.working !== undefined).length;
  for (const service of services) {
    if (busy >= WORKERS) return;
    if (service.working !== undefined || !isOrdered(service)) continue;
    busy++;
    const { order } = service;
    service.working = order;
    void carryOut(runtime, service).then((result) => {
      service.working = undefined;
      // Rule [source HA Manager.pm manage]: what was done for an order that has been replaced tells nothing.
      if (service.order === order) service.result = result;
      onResult();
    });
  }
}

/** Rule [source HA LRM.pm queue_resource_command]: an order is carried out once, but staying stopped is seen to always. */
function isOrdered(service: HaService): boolean {
  return service.state === 'stopped' || (service.result === undefined && service.state !== 'request_start');
}

async function carryOut(runtime: Runtime, service: HaService): Promise<HaService['result']> {
  const { state } = service;
  if (state === 'error') return 'success';
  // Rule [source HA LRM.pm exec_resource_agent]: what is no longer configured is left alone.
  if (!runtime.world.ha.resources.has(service.sid)) return 'error';
  const wantsRunning = state === 'started';
  if (isUp(runtime, service) !== wantsRunning) await (wantsRunning ? start : stop)(runtime, service);
  const isDone = isUp(runtime, service) === wantsRunning;
  return wantsRunning ? afterStart(runtime, service, isDone) : isDone ? 'success' : 'error';
}

/** Rule [source HA LRM.pm handle_service_exitcode]: the manager hears of a failed start when the tries are used up. */
function afterStart(runtime: Runtime, service: HaService, isDone: boolean): HaService['result'] {
  const options = runtime.world.ha.resources.get(service.sid);
  if (isDone || service.tries >= (options ? limitOf(options, 'max_restart') : 0)) {
    service.tries = 0;
    return isDone ? 'success' : 'error';
  }
  service.tries++;
  return undefined;
}

function isUp(runtime: Runtime, service: HaService): boolean {
  return runtime.world.vms.get(service.vmid)?.process !== undefined;
}

/** Rule [observed 9.2.11]: the tasks are those of the VM's own switches, in the name of root@pam. */
async function start(runtime: Runtime, { node, vmid }: HaService): Promise<void> {
  const upid = runtime.tasks.fork(node, 'qmstart', String(vmid), TASK_OWNER, (task) =>
    startVm(runtime, { node, vmid, task }),
  );
  await runtime.tasks.ended(upid);
}

async function stop(runtime: Runtime, { node, vmid, stopSeconds }: HaService): Promise<void> {
  const timeoutSeconds = stopSeconds ?? DEFAULT_STOP_SECONDS;
  const isHard = timeoutSeconds === 0;
  const end = isHard || isPaused(runtime.world.vms.get(vmid)) ? stopVm : shutdownVm;
  const upid = runtime.tasks.fork(node, isHard ? 'qmstop' : 'qmshutdown', String(vmid), TASK_OWNER, (task) =>
    end(runtime, { node, vmid, task, force: true, ...(isHard ? {} : { timeoutSeconds }) }),
  );
  await runtime.tasks.ended(upid);
}
