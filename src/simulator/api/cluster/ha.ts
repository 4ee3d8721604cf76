/** /cluster/ha/resources: what is highly available. Rules, fencing and moving are not simulated. */
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { assertGuest, parseServiceId, resourcesDigest, type ServiceId } from '../../ha/resources.ts';
import { wakeHa } from '../../ha/rounds.ts';
import { dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import type { ParamTexts } from '../../schema/typed-params.ts';
import { isServerSince } from '../../world/releases.ts';

export const haRoutes: Routes = {
  'GET /cluster/ha/resources': listResources,
  'POST /cluster/ha/resources': createResource,
  'GET /cluster/ha/resources/{sid}': (call) => resourceView(call, serviceId(call).sid),
  'PUT /cluster/ha/resources/{sid}': updateResource,
  'DELETE /cluster/ha/resources/{sid}': deleteResource,
  'GET /cluster/ha/rules': () => [],
};

const OPTIONS = ['state', 'comment', 'failback', 'group', 'max_restart', 'max_relocate'];
const NUMBERS = new Set(['failback', 'max_restart', 'max_relocate']);

function serviceId(call: Call<{ readonly sid: string }>): ServiceId {
  return parseServiceId(call.runtime.world, call.params.sid);
}

/** Rule [recorded ha-resources]: what was given and nothing else; defaults are not filled in. */
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

/** Rule [source HA API2/HA/Resources.pm index of 4.0.7]: the list complains about groups that do not exist. */
function lostGroup(call: Call, group: unknown): Record<string, unknown> {
  if (typeof group !== 'string' || call.runtime.world.ha.groups.has(group)) return {};
  return { errors: { group: `group '${group}' does not exist` } };
}

/** Rule [source HA API2/HA/Resources.pm create]: id, type, group, guest, then whether it is there already. */
function createResource(call: CallTo<'POST /cluster/ha/resources'>): null {
  const { world } = call.runtime;
  const id = serviceId(call);
  assertType(call.params, id);
  refuseGroup(call);
  assertGuest(world, id);
  if (world.ha.resources.has(id.sid)) throw dieFault(`create resource failed: resource ID '${id.sid}' already defined`);
  world.ha.resources.set(id.sid, optionsOf(call.texts));
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
  const unknown = deleted.find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) throw updateFault(`no such option '${unknown}'`);
  for (const [key, value] of optionsOf(call.texts)) options.set(key, value);
  // Rule [recorded ha-resources]: what is set and deleted in one request is gone.
  for (const key of deleted) options.delete(key);
  wakeHa(call.runtime);
  return null;
}

function updateFault(detail: string): Error {
  return dieFault(`update resources config failed: ${detail}`);
}

function deleteResource(call: CallTo<'DELETE /cluster/ha/resources/{sid}'>): null {
  const { sid } = serviceId(call);
  if (!call.runtime.world.ha.resources.delete(sid)) throw dieFault(`cannot delete service '${sid}', not HA managed!`);
  wakeHa(call.runtime);
  return null;
}

function assertType({ type }: { readonly type?: string }, id: ServiceId): void {
  if (type !== undefined && type !== id.type) throw dieFault('types does not match');
}

/** Rule [recorded ha-resources]: where no groups are left, nobody can be in one. */
function refuseGroup({ params, runtime }: Call<{ readonly group?: string }>): void {
  if (params.group === undefined || !isServerSince(runtime.world, '9.0')) return;
  throw dieFault("invalid parameter 'group': ha groups have been migrated to rules");
}

/** Rule [source HA API2/HA/Resources.pm update of 4.0.7]: an update looks for the group, a creation does not. */
function assertGroup({ params: { group }, runtime }: Call<{ readonly group?: string }>): void {
  if (group && !runtime.world.ha.groups.has(group)) throw dieFault(`HA group '${group}' does not exist`);
}

/** Rule [recorded ha-create]: what is in error must be disabled before anything else. */
function assertNoError(call: Call<{ readonly state?: string }>, sid: string): void {
  const { services, resources } = call.runtime.world.ha;
  const isIgnored = resources.get(sid)?.get('state') === 'ignored';
  if (!resources.has(sid) || isIgnored || services.get(sid)?.state !== 'error') return;
  if (call.params.state === 'disabled') return;
  throw dieFault(`service '${sid}' in error state, must be disabled and fixed first`);
}

function optionsOf(texts: ParamTexts): Map<string, string> {
  const options = new Map<string, string>();
  for (const key of OPTIONS) {
    const value = texts[key] ?? undefined;
    if (value !== undefined) options.set(key, value);
  }
  return options;
}
