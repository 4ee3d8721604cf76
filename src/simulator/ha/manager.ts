/**
 * The HA managers. The cluster's manager (CRM) compares requested and known states in rounds and gives orders; the
 * agent of each node (LRM) executes them. `rounds.ts` decides when.
 *
 * Only healthy nodes are simulated: no fencing, no load balancing; resources move only on request, and rules move
 * nothing.
 */
import type { Runtime } from '../core/runtime.ts';
import { migrateVm } from '../vm/migration.ts';
import { shutdownVm, startVm, stopVm } from '../vm/power/power.ts';
import { isPaused } from '../vm/power/suspend.ts';
import type { World } from '../world/world.ts';
import { limitOf, type RequestedState, requestedState } from './resources.ts';
import type { HaService, ServiceState } from './state.ts';

/** Rule [source HA Manager.pm manage]: new services, stale services, commands, then states until nothing changes. */
export function managerRound(world: World): void {
  const { services, resources, commands } = world.ha;
  for (const [sid, options] of resources) addService(world, sid, requestedState(options));
  for (const sid of services.keys()) {
    const options = resources.get(sid);
    if (!options || requestedState(options) === 'ignored') services.delete(sid);
  }
  for (const command of commands.splice(0)) {
    const service = services.get(command.sid);
    if (!service) continue;
    if ('seconds' in command) service.stopRequested = command;
    else beginMigration(world, service, command.target);
  }
  for (const service of services.values()) {
    for (let before: ServiceState | undefined; before !== service.state; ) {
      before = service.state;
      advance(world, service);
    }
  }
}

/** Rule [source HA Manager.pm next_state_started, next_state_stopped]: only to a node that is online, and only from rest. */
function beginMigration(world: World, service: HaService, target: string): void {
  const isAtRest = service.state === 'started' || service.state === 'stopped';
  if (!isAtRest || target === service.node || !world.nodes.get(target)?.online) return;
  enter(service, 'migrate');
  service.target = target;
}

function addService(world: World, sid: string, requested: RequestedState): void {
  const vm = world.vms.get(Number(sid.slice('vm:'.length)));
  if (world.ha.services.has(sid) || requested === 'ignored' || !vm) return;
  world.ha.services.set(sid, {
    sid,
    vmid: vm.vmid,
    node: vm.node,
    state: requested === 'started' ? 'request_start' : 'request_stop',
    order: 1,
    result: undefined,
    stopSeconds: undefined,
    isRunning: false,
    failures: 0,
    tries: 0,
    working: undefined,
    stopRequested: undefined,
  });
}

function advance(world: World, service: HaService): void {
  const options = world.ha.resources.get(service.sid) ?? new Map<string, string>();
  const requested = requestedState(options);
  switch (service.state) {
    case 'stopped':
      // Rule [source HA Manager.pm next_state_stopped]: a request to stop a stopped VM is dropped.
      service.stopRequested = undefined;
      if (requested === 'started') enter(service, 'request_start');
      return;
    case 'request_start':
      enter(service, 'started');
      return;
    case 'started':
      advanceStarted(service, options, requested);
      return;
    case 'request_stop':
      if (service.result) enter(service, service.result === 'success' ? 'stopped' : 'error');
      return;
    case 'migrate':
      if (!service.result) return;
      // Rule [source HA Manager.pm next_state_migrate_relocate]: after a failure it stays on its node.
      if (service.result === 'success') service.node = service.target ?? service.node;
      service.target = undefined;
      enter(service, 'started');
      return;
    case 'error':
      // Rule [source HA Manager.pm next_state_error]: only disabling clears it.
      if (requested !== 'disabled') return;
      service.failures = 0;
      enter(service, 'stopped');
  }
}

function advanceStarted(service: HaService, options: Map<string, string>, requested: RequestedState): void {
  if (requested !== 'started') {
    enter(service, 'request_stop');
    return;
  }
  if (service.stopRequested) {
    const { seconds } = service.stopRequested;
    enter(service, 'request_stop');
    service.stopSeconds = seconds;
    // Rule [recorded ha-power]: a stop through the VM's own switch changes what is requested, once the manager has read it.
    options.set('state', 'stopped');
    return;
  }
  if (!service.result) return;
  if (service.result === 'error') {
    service.isRunning = false;
    service.failures++;
    if (service.failures > limitOf(options, 'max_relocate')) {
      enter(service, 'error');
      return;
    }
  } else {
    service.failures = 0;
    service.isRunning = true;
  }
  // Rule [source HA Manager.pm next_state_started]: a new order each time, so that a stopped VM is started again.
  renew(service);
}

function enter(service: HaService, state: ServiceState): void {
  service.state = state;
  service.isRunning = false;
  service.stopSeconds = undefined;
  service.stopRequested = undefined;
  renew(service);
}

function renew(service: HaService): void {
  service.order++;
  service.result = undefined;
}

/** Whether a round would find nothing to do, as long as nothing changes. */
export function isSettled(world: World): boolean {
  const { services, resources, commands, manager } = world.ha;
  if (commands.length > 0) return false;
  // Rule [source HA CRM.pm can_get_active]: any resource activates the manager for the first time, even an ignored one.
  if (resources.size > 0 && !manager?.isActive) return false;
  for (const [sid, options] of resources) {
    const isManaged = requestedState(options) !== 'ignored' && world.vms.has(Number(sid.slice('vm:'.length)));
    if (isManaged !== services.has(sid)) return false;
  }
  return [...services.values()].every((service) => isServiceSettled(world, service));
}

function isServiceSettled(world: World, service: HaService): boolean {
  const options = world.ha.resources.get(service.sid);
  if (!options || service.working !== undefined || service.stopRequested) return false;
  const isUp = world.vms.get(service.vmid)?.process !== undefined;
  const requested = requestedState(options);
  switch (service.state) {
    case 'started':
      return requested === 'started' && service.isRunning && isUp;
    case 'stopped':
      return requested !== 'started' && !isUp;
    case 'error':
      return requested !== 'disabled';
    case 'request_start':
    case 'request_stop':
    case 'migrate':
      return false;
  }
}

/** Rule [source HA Env/PVE2.pm get_max_workers]: so many at a time. */
const WORKERS = 4;
/** Rule [source HA Resources/PVEVM.pm shutdown]: a stop that names no time is a shutdown with this much, then force. */
const DEFAULT_STOP_SECONDS = 60;
const TASK_OWNER = 'root@pam';

/** Starts pending orders; they end later, which `onResult` reports. */
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
      // Rule [source HA Manager.pm manage]: the result of a replaced order is ignored.
      if (service.order === order) service.result = result;
      onResult();
    });
  }
}

/** Rule [source HA LRM.pm queue_resource_command]: an order is executed once, but a stop is enforced permanently. */
function isOrdered(service: HaService): boolean {
  return service.state === 'stopped' || (service.result === undefined && service.state !== 'request_start');
}

async function carryOut(runtime: Runtime, service: HaService): Promise<HaService['result']> {
  const { state } = service;
  if (state === 'error') return 'success';
  // Rule [source HA LRM.pm exec_resource_agent]: a service that is no longer configured is left alone.
  if (!runtime.world.ha.resources.has(service.sid)) return 'error';
  if (state === 'migrate') return (await migrate(runtime, service)) ? 'success' : 'error';
  const wantsRunning = state === 'started';
  if (isUp(runtime, service) !== wantsRunning) await (wantsRunning ? start : stop)(runtime, service);
  const isDone = isUp(runtime, service) === wantsRunning;
  return wantsRunning ? afterStart(runtime, service, isDone) : isDone ? 'success' : 'error';
}

/** Rule [source HA LRM.pm handle_service_exitcode]: the manager learns of a failed start when the tries are used up. */
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

/** Rule [observed 9.2.11]: the tasks are those of the VM's power actions, in the name of root@pam. */
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

/**
 * Rule [source HA Resources/PVEVM.pm migrate]: local disks are not copied; it has moved if the old node no longer has
 * it.
 */
async function migrate(runtime: Runtime, { node, vmid, target = node }: HaService): Promise<boolean> {
  const upid = runtime.tasks.fork(node, 'qmigrate', String(vmid), TASK_OWNER, (task) =>
    migrateVm(runtime, { node, vmid, target, task, withLocalDisks: false, targetStorageOf: (storage) => storage }),
  );
  await runtime.tasks.ended(upid);
  return runtime.world.vms.get(vmid)?.node === target;
}
