/**
 * The cluster's resource manager (CRM): in rounds it compares what is requested with what it knows and gives orders to
 * the nodes. Pure bookkeeping; `agent.ts` carries the orders out, `rounds.ts` decides when.
 *
 * Only what happens on healthy nodes is here: no fencing, no relocation, no rules, no load balancing.
 */
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
    if (service) service.stopRequested = command;
  }
  for (const service of services.values()) {
    for (let before: ServiceState | undefined; before !== service.state; ) {
      before = service.state;
      advance(world, service);
    }
  }
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
      // Rule [source HA Manager.pm next_state_stopped]: a request to stop what is stopped is forgotten.
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
    case 'error':
      // Rule [source HA Manager.pm next_state_error]: only disabling leads out of it.
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
  // Rule [source HA Manager.pm next_state_started]: a new order each time, so that what went down is started again.
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

/** Whether a round would find nothing to do, as long as nobody changes anything. */
export function isSettled(world: World): boolean {
  const { services, resources, commands } = world.ha;
  if (commands.length > 0) return false;
  for (const [sid, options] of resources) {
    const isWanted = requestedState(options) !== 'ignored' && world.vms.has(Number(sid.slice('vm:'.length)));
    if (isWanted !== services.has(sid)) return false;
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
      return false;
  }
}
