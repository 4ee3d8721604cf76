/**
 * /cluster/ha: high availability. Resources and the work of their managers are simulated; fencing is not. Rules are in
 * `ha-rules.ts`. Groups, which 9.0 replaced by rules, are stored for older releases and have no effect.
 */
import { createHash } from 'node:crypto';
import type { Call, CallTo, Handler, Routes } from '../../core/call.ts';
import {
  assertGuest,
  limitOf,
  parseServiceId,
  requestedState,
  resourcesDigest,
  type ServiceId,
} from '../../ha/resources.ts';
import { lastRoundAt, wakeHa } from '../../ha/rounds.ts';
import { removeHaResource } from '../../ha/rules.ts';
import type { HaService, Rounds } from '../../ha/state.ts';
import { ApiFault, dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import { type ParamTexts, sentTexts } from '../../schema/validate.ts';
import { isServerSince } from '../../world/releases.ts';
import type { World } from '../../world/world.ts';

export const haRoutes: Routes = {
  'GET /cluster/ha/resources': listResources,
  'POST /cluster/ha/resources': createResource,
  'GET /cluster/ha/resources/{sid}': (call) => resourceView(call, serviceId(call).sid),
  'PUT /cluster/ha/resources/{sid}': updateResource,
  'DELETE /cluster/ha/resources/{sid}': deleteResource,
  'GET /cluster/ha/status/current': (call) => [
    { id: 'quorum', type: 'quorum', node: call.node, quorate: 1, status: 'OK' },
    ...managerEntries(call),
    ...serviceEntries(call),
  ],
  'GET /cluster/ha/status/manager_status': (call) => managerStatus(call),
  // Rule [recorded ha-and-mappings-empty]: groups no longer exist, and all endpoints for them refuse.
  'GET /cluster/ha/groups': untilRules('index groups', (call) =>
    [...call.runtime.world.ha.groups.keys()].map((group) => groupView(call.runtime.world, group)),
  ),
  'GET /cluster/ha/groups/{group}': untilRules('read group', (call) =>
    groupView(call.runtime.world, call.params.group),
  ),
  'POST /cluster/ha/groups': untilRules('create group', createGroup),
  'PUT /cluster/ha/groups/{group}': untilRules('update group', updateGroup),
  'DELETE /cluster/ha/groups/{group}': untilRules('delete group', deleteGroup),
};

const RESOURCE_OPTIONS = ['state', 'comment', 'failback', 'group', 'max_restart', 'max_relocate'];
const NUMBERS = new Set(['failback', 'max_restart', 'max_relocate']);

function serviceId(call: Call<{ readonly sid: string }>): ServiceId {
  return parseServiceId(call.runtime.world, call.params.sid);
}

/** Rule [recorded ha-resources]: only the given options; defaults are not filled in. */
function resourceView(call: Call, sid: string): Record<string, unknown> {
  const { world } = call.runtime;
  const options = world.ha.resources.get(sid);
  if (!options) throw dieFault(`no such resource '${sid}'`);
  const values = [...options].map(([key, value]) => [key, NUMBERS.has(key) ? Number(value) : value]);
  return { sid, type: sid.slice(0, sid.indexOf(':')), digest: resourcesDigest(world), ...Object.fromEntries(values) };
}

function listResources(call: CallTo<'GET /cluster/ha/resources'>): Record<string, unknown>[] {
  const type = call.params.type;
  return [...call.runtime.world.ha.resources.keys()]
    .map((sid) => resourceView(call, sid))
    .filter((resource) => type === undefined || resource.type === type)
    .map((resource) => ({ ...resource, ...lostGroup(call, resource.group) }));
}

/** Rule [source HA API2/HA/Resources.pm index of 4.0.7]: the list reports groups that do not exist. */
function lostGroup(call: Call, group: unknown): Record<string, unknown> {
  if (typeof group !== 'string' || call.runtime.world.ha.groups.has(group)) return {};
  return { errors: { group: `group '${group}' does not exist` } };
}

/** Rule [source HA API2/HA/Resources.pm create]: id, type, group, guest, then whether it exists. */
function createResource(call: CallTo<'POST /cluster/ha/resources'>): null {
  const { world } = call.runtime;
  const id = serviceId(call);
  assertType(call.params, id);
  refuseGroup(call);
  assertGuest(world, id);
  if (world.ha.resources.has(id.sid)) throw dieFault(`create resource failed: resource ID '${id.sid}' already defined`);
  world.ha.resources.set(id.sid, optionsOf(call.texts, RESOURCE_OPTIONS));
  wakeHa(call.runtime);
  return null;
}

function updateResource(call: CallTo<'PUT /cluster/ha/resources/{sid}'>): null {
  const { world } = call.runtime;
  const { sid } = serviceId(call);
  if (call.params.group) refuseGroup(call);
  assertGroup(call);
  assertNoError(call, sid);
  const digest = call.params.digest;
  if (digest && digest !== resourcesDigest(world)) {
    throw updateFault('detected modified configuration - file changed by other user? Try again.');
  }
  const options = world.ha.resources.get(sid);
  if (!options) throw updateFault(`no such resource '${sid}'`);
  const deleted = splitList(call.params.delete ?? '');
  const unknown = deleted.find((key) => !RESOURCE_OPTIONS.includes(key));
  if (unknown !== undefined) throw updateFault(`no such option '${unknown}'`);
  for (const [key, value] of optionsOf(call.texts, RESOURCE_OPTIONS)) options.set(key, value);
  // Rule [recorded ha-resources]: an option that is set and deleted in one request is deleted.
  for (const key of deleted) options.delete(key);
  wakeHa(call.runtime);
  return null;
}

function updateFault(detail: string): Error {
  return dieFault(`update resources config failed: ${detail}`);
}

function deleteResource(call: CallTo<'DELETE /cluster/ha/resources/{sid}'>): null {
  const { sid } = serviceId(call);
  const isRemoved = removeHaResource(call.runtime.world, sid, { purge: call.params.purge ?? true });
  if (!isRemoved) throw dieFault(`cannot delete service '${sid}', not HA managed!`);
  wakeHa(call.runtime);
  return null;
}

function assertType({ type }: { readonly type?: string }, id: ServiceId): void {
  if (type !== undefined && type !== id.type) throw dieFault('types does not match');
}

/** Rule [recorded ha-resources]: releases without groups refuse the parameter. */
function refuseGroup({ params, runtime }: Call<{ readonly group?: string }>): void {
  if (params.group === undefined || !isServerSince(runtime.world, '9.0')) return;
  throw dieFault("invalid parameter 'group': ha groups have been migrated to rules");
}

/** Rule [source HA API2/HA/Resources.pm update of 4.0.7]: an update checks the group, a creation does not. */
function assertGroup({ params: { group }, runtime }: Call<{ readonly group?: string }>): void {
  if (group && !runtime.world.ha.groups.has(group)) throw dieFault(`HA group '${group}' does not exist`);
}

/** Rule [recorded ha-create]: a service in error state must be disabled before anything else. */
function assertNoError(call: Call<{ readonly state?: string }>, sid: string): void {
  const { services, resources } = call.runtime.world.ha;
  const isIgnored = resources.get(sid)?.get('state') === 'ignored';
  if (!resources.has(sid) || isIgnored || services.get(sid)?.state !== 'error') return;
  if (call.params.state === 'disabled') return;
  throw dieFault(`service '${sid}' in error state, must be disabled and fixed first`);
}

function optionsOf(texts: ParamTexts, names: readonly string[]): Map<string, string> {
  const sent = new Map(sentTexts(texts));
  return new Map(names.flatMap((name) => (sent.has(name) ? [[name, sent.get(name) ?? '']] : [])));
}

type Entry = Record<string, unknown>;

/** Rule [source HA API2/HA/Status.pm status]: a manager that never had any work is not listed. */
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
  // Rule [source HA API2/HA/Status.pm status of 5.1.0]: fencing is not shown before 9.2.
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

/** Rule [observed 9.2.11]: a node with its first service waits for its lock until its next round. */
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

/** Rule [source HA Tools.pm get_verbose_service_state]: a transition counts as its target state. */
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
    case 'migrate':
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

const REQUIRED = new Set(['nodes']);
const FLAGS = ['nofailback', 'restricted'];
const GROUP_OPTIONS = ['nodes', 'comment', ...FLAGS];

/** Rule [source HA API2/HA/Groups.pm]: each endpoint has its own message; a cluster of 9.0 and later has no groups. */
function untilRules<Params>(attempt: string, handler: Handler<Params>): Handler<Params> {
  return (call) => {
    if (!isServerSince(call.runtime.world, '9.0')) return handler(call);
    throw dieFault(`cannot ${attempt}: ha groups have been migrated to rules`);
  };
}

/** Rule [source HA API2/HA/Groups.pm $api_copy_config of 4.0.7]: what was given, with the name and the digest of all. */
function groupView(world: World, group: string): Record<string, unknown> {
  const options = world.ha.groups.get(group);
  if (!options) throw dieFault(`no such ha group '${group}'`);
  const values = [...options].map(([key, value]) => [key, FLAGS.includes(key) ? Number(value) : value]);
  return { group, type: 'group', digest: groupsDigest(world), ...Object.fromEntries(values) };
}

function createGroup(call: CallTo<'POST /cluster/ha/groups'>): null {
  const { groups } = call.runtime.world.ha;
  const group = call.params.group;
  if (groups.has(group)) throw dieFault(`create ha group failed: ha group ID '${group}' already defined`);
  groups.set(group, optionsOf(call.texts, GROUP_OPTIONS));
  return null;
}

/** Rule [source HA API2/HA/Groups.pm update of 4.0.7]: digest, group, values, then what is to be deleted. */
function updateGroup(call: CallTo<'PUT /cluster/ha/groups/{group}'>): null {
  const { world } = call.runtime;
  const fail = (detail: string) => dieFault(`update ha group failed: ${detail}`);
  const digest = call.params.digest;
  if (digest && digest !== groupsDigest(world)) {
    throw fail('detected modified configuration - file changed by other user? Try again.');
  }
  const options = world.ha.groups.get(call.params.group);
  if (!options) throw fail(`no such ha group '${call.params.group}'`);
  const deleted = splitList(call.params.delete ?? '');
  for (const key of deleted) {
    if (!GROUP_OPTIONS.includes(key)) throw fail(`no such option '${key}'`);
    if (REQUIRED.has(key)) throw fail(`unable to delete required option '${key}'`);
  }
  for (const [key, value] of optionsOf(call.texts, GROUP_OPTIONS)) options.set(key, value);
  for (const key of deleted) options.delete(key);
  return null;
}

/**
 * Rule [source HA API2/HA/Groups.pm delete of 4.0.7]: refused while a resource is in it; deleting a missing group
 * succeeds.
 */
function deleteGroup(call: CallTo<'DELETE /cluster/ha/groups/{group}'>): null {
  const { groups, resources } = call.runtime.world.ha;
  const user = [...resources].find(([, options]) => options.get('group') === call.params.group);
  if (user) throw dieFault(`delete ha group failed: ha group is used by service '${user[0]}'`);
  groups.delete(call.params.group);
  return null;
}

function groupsDigest(world: World): string {
  const sections = [...world.ha.groups].map(
    ([group, options]) => `group: ${group}\n${[...options].map(([key, value]) => `\t${key} ${value}\n`).join('')}`,
  );
  return createHash('sha1').update(sections.join('\n')).digest('hex');
}
