/** /cluster/ha/groups: lists of nodes for resources, until 9.0 replaced them by rules. They are kept, and nothing obeys them. */
import { createHash } from 'node:crypto';
import type { CallTo, Handler, Routes } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import type { ParamTexts } from '../../schema/typed-params.ts';
import { isServerSince } from '../../world/releases.ts';
import type { World } from '../../world/world.ts';

export const haGroupRoutes: Routes = {
  // Rule [recorded ha-and-mappings-empty]: groups are history, and so are all ways to get at them.
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

const REQUIRED = new Set(['nodes']);
const FLAGS = ['nofailback', 'restricted'];
const OPTIONS = ['nodes', 'comment', ...FLAGS];

/** Rule [source HA API2/HA/Groups.pm]: each door has its own words; no cluster of 9.0 and later has kept its groups. */
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
  groups.set(group, optionsOf(call.texts));
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
    if (!OPTIONS.includes(key)) throw fail(`no such option '${key}'`);
    if (REQUIRED.has(key)) throw fail(`unable to delete required option '${key}'`);
  }
  for (const [key, value] of optionsOf(call.texts)) options.set(key, value);
  for (const key of deleted) options.delete(key);
  return null;
}

/** Rule [source HA API2/HA/Groups.pm delete of 4.0.7]: refused while a resource is in it; what is not there is gone already. */
function deleteGroup(call: CallTo<'DELETE /cluster/ha/groups/{group}'>): null {
  const { groups, resources } = call.runtime.world.ha;
  const user = [...resources].find(([, options]) => options.get('group') === call.params.group);
  if (user) throw dieFault(`delete ha group failed: ha group is used by service '${user[0]}'`);
  groups.delete(call.params.group);
  return null;
}

function optionsOf(texts: ParamTexts): Map<string, string> {
  const options = new Map<string, string>();
  for (const key of OPTIONS) {
    const value = texts[key] ?? undefined;
    if (value !== undefined) options.set(key, value);
  }
  return options;
}

function groupsDigest(world: World): string {
  const sections = [...world.ha.groups].map(
    ([group, options]) => `group: ${group}\n${[...options].map(([key, value]) => `\t${key} ${value}\n`).join('')}`,
  );
  return createHash('sha1').update(sections.join('\n')).digest('hex');
}
