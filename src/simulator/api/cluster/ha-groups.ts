/** /cluster/ha/groups: lists of nodes for resources, until 9.0 replaced them by rules. They are kept, and nothing obeys them. */
import { createHash } from 'node:crypto';
import { type Call, flag, type Handler, type Params, type Routes, requiredText, text } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import { isServerSince } from '../../world/releases.ts';
import type { World } from '../../world/world.ts';

export const haGroupRoutes: Routes = {
  // Rule [recorded ha-and-mappings-empty]: groups are history, and so are all ways to get at them.
  'GET /cluster/ha/groups': untilRules('index groups', (call) =>
    [...call.runtime.world.ha.groups.keys()].map((group) => groupView(call.runtime.world, group)),
  ),
  'GET /cluster/ha/groups/{group}': untilRules('read group', (call) => groupView(call.runtime.world, groupOf(call))),
  'POST /cluster/ha/groups': untilRules('create group', createGroup),
  'PUT /cluster/ha/groups/{group}': untilRules('update group', updateGroup),
  'DELETE /cluster/ha/groups/{group}': untilRules('delete group', deleteGroup),
};

const REQUIRED = new Set(['nodes']);
const FLAGS = ['nofailback', 'restricted'];
const OPTIONS = ['nodes', 'comment', ...FLAGS];

/** Rule [source HA API2/HA/Groups.pm]: each door has its own words; no cluster of 9.0 and later has kept its groups. */
function untilRules(attempt: string, handler: Handler): Handler {
  return (call) => {
    if (!isServerSince(call.runtime.world, '9.0')) return handler(call);
    throw dieFault(`cannot ${attempt}: ha groups have been migrated to rules`);
  };
}

const groupOf = (call: Call) => requiredText(call.params, 'group');

/** Rule [source HA API2/HA/Groups.pm $api_copy_config of 4.0.7]: what was given, with the name and the digest of all. */
function groupView(world: World, group: string): Record<string, unknown> {
  const options = world.ha.groups.get(group);
  if (!options) throw dieFault(`no such ha group '${group}'`);
  const values = [...options].map(([key, value]) => [key, FLAGS.includes(key) ? Number(value) : value]);
  return { group, type: 'group', digest: groupsDigest(world), ...Object.fromEntries(values) };
}

function createGroup(call: Call): null {
  const { groups } = call.runtime.world.ha;
  const group = groupOf(call);
  if (groups.has(group)) throw dieFault(`create ha group failed: ha group ID '${group}' already defined`);
  groups.set(group, optionsOf(call.params));
  return null;
}

/** Rule [source HA API2/HA/Groups.pm update of 4.0.7]: digest, group, values, then what is to be deleted. */
function updateGroup(call: Call): null {
  const { world } = call.runtime;
  const fail = (detail: string) => dieFault(`update ha group failed: ${detail}`);
  const digest = text(call.params, 'digest');
  if (digest && digest !== groupsDigest(world)) {
    throw fail('detected modified configuration - file changed by other user? Try again.');
  }
  const options = world.ha.groups.get(groupOf(call));
  if (!options) throw fail(`no such ha group '${groupOf(call)}'`);
  const deleted = splitList(text(call.params, 'delete') ?? '');
  for (const key of deleted) {
    if (!OPTIONS.includes(key)) throw fail(`no such option '${key}'`);
    if (REQUIRED.has(key)) throw fail(`unable to delete required option '${key}'`);
  }
  for (const [key, value] of optionsOf(call.params)) options.set(key, value);
  for (const key of deleted) options.delete(key);
  return null;
}

/** Rule [source HA API2/HA/Groups.pm delete of 4.0.7]: refused while a resource is in it; what is not there is gone already. */
function deleteGroup(call: Call): null {
  const { groups, resources } = call.runtime.world.ha;
  const user = [...resources].find(([, options]) => options.get('group') === groupOf(call));
  if (user) throw dieFault(`delete ha group failed: ha group is used by service '${user[0]}'`);
  groups.delete(groupOf(call));
  return null;
}

function optionsOf(params: Params): Map<string, string> {
  const options = new Map<string, string>();
  for (const key of OPTIONS) {
    const value = FLAGS.includes(key) ? flag(params, key) : text(params, key);
    if (value !== undefined) options.set(key, typeof value === 'boolean' ? String(Number(value)) : value);
  }
  return options;
}

function groupsDigest(world: World): string {
  const sections = [...world.ha.groups].map(
    ([group, options]) => `group: ${group}\n${[...options].map(([key, value]) => `\t${key} ${value}\n`).join('')}`,
  );
  return createHash('sha1').update(sections.join('\n')).digest('hex');
}
