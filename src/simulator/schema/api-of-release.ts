/** The facts about the API of one release: those of the newest release with every later change undone. */
import { isSince } from '../../base/values/release.ts';
import { API_CHANGES, type ApiChange } from './api-changes.ts';
import { API_FACTS } from './api-facts.generated.ts';
import { OTHER_ENDPOINTS } from './other-endpoints.generated.ts';
import type { EndpointFacts, ParamSchema, ParamSchemas, Permissions } from './types.ts';

export type ApiFacts = Readonly<Record<string, EndpointFacts>>;

const anyone: Permissions = { user: 'all' };
const systemAudit: Permissions = { check: ['perm', '/', ['Sys.Audit']] };
const vmAudit: Permissions = { check: ['perm', '/vms/{vmid}', ['VM.Audit']] };
const node: ParamSchemas = { node: { type: 'string', format: 'pve-node' } };
const vm: ParamSchemas = {
  ...node,
  vmid: { type: 'integer', minimum: 100, maximum: 999_999_999, format: 'pve-vmid' },
};

function facts(permissions: Permissions, params: ParamSchemas = {}): EndpointFacts {
  return { params, permissions, ...('node' in params && { proxyto: 'node' }) };
}

/**
 * Endpoints that the generated facts do not list because Proxwright does not need them, but which were recorded or which
 * other clients use. Rule [source PM API2/*.pm]: their parameters and declared permissions.
 */
export const EXTRA_FACTS: Readonly<Record<string, EndpointFacts>> = {
  'GET /': facts(anyone),
  'GET /access/domains': facts({ user: 'world' }),
  'GET /cluster': facts(anyone),
  'GET /cluster/backup': facts(systemAudit),
  'GET /cluster/firewall/options': facts(systemAudit),
  'GET /cluster/jobs': facts(anyone),
  'GET /cluster/replication': facts(anyone),
  'GET /cluster/sdn/vnets': facts(anyone, {
    pending: { type: 'boolean', optional: true },
    running: { type: 'boolean', optional: true },
  }),
  'GET /cluster/sdn/zones': facts(anyone, {
    pending: { type: 'boolean', optional: true },
    running: { type: 'boolean', optional: true },
    type: { type: 'string', optional: true, enum: ['evpn', 'faucet', 'qinq', 'simple', 'vlan', 'vxlan'] },
  }),
  'GET /nodes/{node}/lxc': facts(anyone, node),
  'GET /nodes/{node}/qemu/{vmid}/firewall/options': facts(vmAudit, vm),
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules': facts(vmAudit, vm),
  'GET /nodes/{node}/sdn/zones/{zone}/bridges': facts(
    { check: ['perm', '/sdn/zones/{zone}', ['SDN.Audit']] },
    { ...node, zone: { type: 'string', format: 'pve-configid' } },
  ),
};

const NEWEST: ApiFacts = { ...API_FACTS, ...EXTRA_FACTS };

/** The names of endpoints that the release has besides those of `apiOf`. */
export function otherEndpointsOf(version: string): string[] {
  return OTHER_ENDPOINTS.filter(
    ({ since, until }) => isSince(version, since) && (until === undefined || !isSince(version, until)),
  ).flatMap(({ endpoints }) => endpoints);
}

/** `version` as the server reports it: `8.4.1`. */
export function apiOf(version: string, newest: ApiFacts = NEWEST): ApiFacts {
  const changes = API_CHANGES.filter(({ before }) => !isSince(version, before));
  if (changes.length === 0) return newest;
  const facts = new Map(Object.entries(newest));
  for (const change of changes) {
    for (const name of endpointsOf(change, newest)) {
      const endpoint = facts.get(name);
      if (!endpoint) continue;
      if (change.absent) facts.delete(name);
      else facts.set(name, takenBack(endpoint, change));
    }
  }
  return Object.fromEntries(facts);
}

/** Names of endpoints that a change is about, whether or not a release still has them. */
export function endpointsOf({ endpoints }: ApiChange, newest: ApiFacts = NEWEST): string[] {
  return endpoints.flatMap((pattern) => {
    if (!pattern.includes('*')) return [pattern];
    const [method = '', path = ''] = pattern.split(' ');
    const stem = path.replace(/\*$/, '');
    return Object.keys(newest).filter((name) => {
      const [ownMethod = '', ownPath = ''] = name.split(' ');
      return (method === '*' || method === ownMethod) && (path === stem ? ownPath === stem : ownPath.startsWith(stem));
    });
  });
}

function takenBack(endpoint: EndpointFacts, change: ApiChange): EndpointFacts {
  const params = changed(endpoint.params, change.without, change.params);
  for (const [name, { without, params: parts }] of Object.entries(change.parts ?? {})) {
    const schema = params[name];
    if (schema && typeof schema.format === 'object') {
      params[name] = { ...schema, format: changed(schema.format, without, parts) };
    }
  }
  return { ...endpoint, params, permissions: change.permissions ?? endpoint.permissions };
}

function changed(
  schemas: ParamSchemas,
  without: readonly string[] = [],
  others: ParamSchemas = {},
): Record<string, ParamSchema> {
  const left = Object.entries(schemas).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...others };
}
