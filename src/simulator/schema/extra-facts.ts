/**
 * Endpoints that the generated facts do not list because the product does not need them, but which were recorded or are
 * asked for by other clients. Rule [source PM API2/*.pm]: their parameters and declared permissions.
 */
import type { EndpointFacts, ParamSchemas, Permissions } from './types.ts';

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

/** Lists and the like, without parameters of their own. */
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
