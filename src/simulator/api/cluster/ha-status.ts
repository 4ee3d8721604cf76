/** /cluster/ha/status: what the managers of high availability are doing. */
import type { Call, Routes } from '../../core/call.ts';
import { limitOf, requestedState } from '../../ha/resources.ts';
import { lastRoundAt } from '../../ha/rounds.ts';
import type { HaService, Rounds } from '../../ha/state.ts';
import { ApiFault } from '../../http/response.ts';
import { isServerSince } from '../../world/releases.ts';

type Entry = Record<string, unknown>;

export const haStatusRoutes: Routes = {
  'GET /cluster/ha/status/current': (call) => [
    { id: 'quorum', type: 'quorum', node: call.node, quorate: 1, status: 'OK' },
    ...managerEntries(call),
    ...serviceEntries(call),
  ],
  'GET /cluster/ha/status/manager_status': (call) => managerStatus(call),
};

/** Rule [source HA API2/HA/Status.pm status]: a manager that never had anything to do is not mentioned. */
function managerEntries(call: Call): Entry[] {
  const { ha, entryNode } = call.runtime.world;
  const isArmed = ha.manager?.isActive === true && ha.resources.size + ha.services.size > 0;
  const armed = isArmed ? 'armed' : 'standby';
  const fencing = {
    id: 'fencing',
    type: 'fencing',
    node: ha.manager?.isActive ? entryNode : call.node,
    'armed-state': armed,
    status: `${armed} (CRM watchdog ${isArmed ? 'active' : 'standby'})`,
  };
  // Rule [source HA API2/HA/Status.pm status of 5.1.0]: nobody is told about fencing before 9.2.
  const known = isServerSince(call.runtime.world, '9.2') ? [fencing] : [];
  if (!ha.manager?.isActive) return known;
  const master = { ...seen(call, ha.manager, isArmed ? 'active' : 'idle', entryNode), id: 'master', type: 'master' };
  const agents = [...ha.agents].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    master,
    ...known,
    ...agents.map(([node, agent]) => ({
      ...seen(call, agent, agentText(call, node, agent), node),
      id: `lrm:${node}`,
      type: 'lrm',
    })),
  ];
}

function seen(call: Call, rounds: Rounds, what: string, node: string): Entry {
  const timestamp = Math.floor(lastRoundAt(call.runtime, rounds) / 1000);
  return { node, timestamp, status: `${node} (${what}, ${localTime(timestamp)})` };
}

/** Rule [observed 9.2.11]: a node that has got its first service waits for its lock until its next round. */
function agentText(call: Call, node: string, agent: Rounds): string {
  const hasWatchdog = isServerSince(call.runtime.world, '9.2');
  if (agent.isActive) return hasWatchdog ? 'active, watchdog active' : 'active';
  const hasServices = [...call.runtime.world.ha.services.values()].some((service) => service.node === node);
  return `${hasServices ? 'wait_for_agent_lock' : 'idle'}${hasWatchdog ? ', watchdog standby' : ''}`;
}

function serviceEntries(call: Call): Entry[] {
  const { services, resources } = call.runtime.world.ha;
  const waiting = [...resources.keys()].filter((sid) => !services.has(sid));
  return [...[...services.keys()].sort(), ...waiting.sort()].map((sid) => serviceEntry(call, sid));
}

function serviceEntry(call: Call, sid: string): Entry {
  const { world } = call.runtime;
  const [service, options] = [world.ha.services.get(sid), world.ha.resources.get(sid)];
  const node = service?.node ?? world.vms.get(Number(sid.slice('vm:'.length)))?.node;
  const state = verboseState(service, options, node);
  const comment = options?.get('comment');
  return {
    id: `service:${sid}`,
    type: 'service',
    sid,
    ...(node === undefined ? {} : { node }),
    ...(service ? { crm_state: service.state } : {}),
    state,
    status: `${sid} (${node ?? '---'}, ${state})`,
    ...(options && {
      request_state: requestedState(options),
      max_restart: limitOf(options, 'max_restart'),
      max_relocate: limitOf(options, 'max_relocate'),
      // Rule [source HA API2/HA/Status.pm status of 4.0.7]: a group, or since 9.0 a way back.
      ...(isServerSince(world, '9.0') ? { failback: Number(options.get('failback') ?? 1) } : groupEntry(options)),
    }),
    ...(comment === undefined ? {} : { comment }),
  };
}

function groupEntry(options: ReadonlyMap<string, string>): Entry {
  const group = options.get('group');
  return group === undefined ? {} : { group };
}

/** Rule [source HA Tools.pm get_verbose_service_state]: what is on its way counts as what it is on its way to. */
function verboseState(
  service: HaService | undefined,
  options: ReadonlyMap<string, string> | undefined,
  node: string | undefined,
): string {
  if (!options) return 'deleting';
  const requested = requestedState(options);
  if (requested === 'ignored') return 'ignored';
  if (node === undefined) return 'not found';
  if (!service) return 'queued';
  switch (service.state) {
    case 'stopped':
      return requested === 'started' ? 'starting' : requested;
    case 'started':
      if (!service.isRunning) return 'starting';
      return requested === 'started' ? 'started' : 'stopping';
    case 'error':
      return requested === 'disabled' ? 'clearing error flag' : 'error';
    case 'request_start':
    case 'request_stop':
      return service.state;
  }
}

/** Rule [source HA API2/HA/Status.pm manager_status]: of a manager that never had anything to do; of others it is not simulated. */
function managerStatus(call: Call): Entry {
  if (call.runtime.world.ha.manager?.isActive)
    throw new ApiFault(501, 'the state of an active HA manager is not simulated');
  return { manager_status: { node_status: {} }, quorum: { node: call.node, quorate: '1' } };
}

/** Seconds as Perl's `localtime` prints them; the clocks of simulated hosts run in UTC. */
function localTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const [weekday, day, month, year, time] = date.toUTCString().replace(',', '').split(' ');
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`;
}
