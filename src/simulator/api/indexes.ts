/**
 * Lists of what lies below a path, and the facts of endpoints that are simulated although the generated facts leave them
 * out (they were recorded as plain lists).
 */
import type { Routes } from '../core/call.ts';
import type { ExtraFacts } from '../core/router.ts';
import type { EndpointFacts, ParamSchema, PermissionCheck } from '../schema/types.ts';

export function indexOf(key: string, names: readonly string[]): Record<string, string>[] {
  return names.map((name) => ({ [key]: name }));
}

export const indexRoutes: Routes = {
  'GET /nodes/{node}': () => indexOf('name', NODE_INDEX),
  // Rule [recorded unknown-vm]: the list does not look whether the VM exists.
  'GET /nodes/{node}/qemu/{vmid}': () => indexOf('subdir', VM_INDEX),
  'GET /nodes/{node}/capabilities': () => indexOf('name', ['qemu']),
  'GET /nodes/{node}/capabilities/qemu': () => indexOf('name', ['cpu', 'cpu-flags', 'machines', 'migration']),
  'GET /nodes/{node}/hardware': () => indexOf('type', ['pci', 'usb']),
  'GET /cluster/ha': () => indexOf('id', ['status', 'resources', 'groups', 'rules']),
  'GET /cluster/ha/status': () => indexOf('name', ['current', 'manager_status', 'disarm-ha', 'arm-ha']),
  'GET /cluster/mapping': () => indexOf('name', ['dir', 'pci', 'usb']),
  'GET /cluster/jobs': () => indexOf('subdir', ['schedule-analyze', 'realm-sync']),
  'GET /cluster/backup': () => [],
  'GET /cluster/replication': () => [],
};

const NODE_INDEX =
  'aplinfo apt capabilities ceph certificates config disks dns firewall hardware hosts journal lxc migrateall netstat network qemu query-oci-repo-tags query-url-metadata replication report rrd rrddata scan sdn services spiceshell startall status stopall storage subscription suspendall syslog tasks termproxy time version vncshell vzdump wakeonlan'.split(
    ' ',
  );
const VM_INDEX =
  'config cloudinit pending status unlink vncproxy termproxy migrate resize move rrd rrddata monitor agent snapshot spiceproxy sendkey firewall mtunnel remote_migrate'.split(
    ' ',
  );

const NODE: ParamSchema = { type: 'string', format: 'pve-node' };
const OPTIONAL_FLAG: ParamSchema = { type: 'boolean', optional: true };
const VMID: ParamSchema = { type: 'integer', format: 'pve-vmid', minimum: 100, maximum: 999_999_999 };

function anyUser(params: EndpointFacts['params'] = {}): EndpointFacts {
  return { params, permissions: { user: 'all' } };
}

function checked(check: PermissionCheck, params: EndpointFacts['params'] = {}, isOnNode = false): EndpointFacts {
  return { params, permissions: { check }, ...(isOnNode ? { proxyto: 'node' } : {}) };
}

const VM_AUDIT: PermissionCheck = ['perm', '/vms/{vmid}', ['VM.Audit']];
const CLUSTER_AUDIT: PermissionCheck = ['perm', '/', ['Sys.Audit']];

export const extraFacts: ExtraFacts = {
  'GET /cluster': anyUser(),
  'GET /cluster/jobs': anyUser(),
  'GET /cluster/backup': checked(CLUSTER_AUDIT),
  'GET /cluster/replication': anyUser(),
  'GET /cluster/sdn/zones': anyUser({ pending: OPTIONAL_FLAG, running: OPTIONAL_FLAG, type: { type: 'string', optional: true } }),
  'GET /cluster/sdn/vnets': anyUser({ pending: OPTIONAL_FLAG, running: OPTIONAL_FLAG }),
  'GET /cluster/firewall/options': checked(CLUSTER_AUDIT),
  'GET /cluster/firewall/rules': checked(CLUSTER_AUDIT),
  'GET /nodes/{node}/lxc': { ...anyUser({ node: NODE }), proxyto: 'node' },
  'GET /nodes/{node}/sdn/zones': { ...anyUser({ node: NODE }), proxyto: 'node' },
  'GET /nodes/{node}/sdn/zones/{zone}/bridges': checked(
    ['perm', '/sdn/zones/{zone}', ['SDN.Audit']],
    { node: NODE, zone: { type: 'string' } },
    true,
  ),
  'GET /nodes/{node}/firewall/options': checked(['perm', '/nodes/{node}', ['Sys.Audit']], { node: NODE }, true),
  'GET /nodes/{node}/firewall/rules': checked(['perm', '/nodes/{node}', ['Sys.Audit']], { node: NODE }, true),
  'GET /nodes/{node}/qemu/{vmid}/firewall': { ...anyUser({ node: NODE, vmid: VMID }) },
  'GET /nodes/{node}/qemu/{vmid}/firewall/options': checked(VM_AUDIT, { node: NODE, vmid: VMID }, true),
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules': checked(VM_AUDIT, { node: NODE, vmid: VMID }, true),
};
