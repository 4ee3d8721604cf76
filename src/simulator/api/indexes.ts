/** The version, and the lists of what is below a path. */
import type { Call, Routes } from '../core/call.ts';
import { isServerSince } from '../world/releases.ts';

export function indexOf(key: string, names: readonly string[]): Record<string, string>[] {
  return names.map((name) => ({ [key]: name }));
}

export const indexRoutes: Routes = {
  'GET /': () => indexOf('subdir', ['version', 'cluster', 'nodes', 'storage', 'access', 'pools']),
  'GET /nodes/{node}': () => indexOf('name', NODE_INDEX),
  // Rule [recorded unknown-vm]: the list does not look whether the VM exists.
  'GET /nodes/{node}/qemu/{vmid}': () => indexOf('subdir', VM_INDEX),
  'GET /nodes/{node}/capabilities': () => indexOf('name', ['qemu']),
  'GET /nodes/{node}/capabilities/qemu': () => indexOf('name', ['cpu', 'cpu-flags', 'machines', 'migration']),
  'GET /nodes/{node}/hardware': () => indexOf('type', ['pci', 'usb']),
  // Rule [source PM API2/HAConfig.pm index of 8.4.1]: no rules before 9.0.
  'GET /cluster/ha': ({ runtime: { world } }) =>
    indexOf('id', ['status', 'resources', 'groups', ...(isServerSince(world, '9.0') ? ['rules'] : [])]),
  'GET /cluster/ha/status': () => indexOf('name', ['current', 'manager_status', 'disarm-ha', 'arm-ha']),
  'GET /cluster/mapping': () => indexOf('name', ['dir', 'pci', 'usb']),
  'GET /version': versionOf,
  'GET /nodes/{node}/version': versionOf,
};

const NODE_INDEX =
  'aplinfo apt capabilities ceph certificates config disks dns firewall hardware hosts journal lxc migrateall netstat network qemu query-oci-repo-tags query-url-metadata replication report rrd rrddata scan sdn services spiceshell startall status stopall storage subscription suspendall syslog tasks termproxy time version vncshell vzdump wakeonlan'.split(
    ' ',
  );
const VM_INDEX =
  'config cloudinit pending status unlink vncproxy termproxy migrate resize move rrd rrddata monitor agent snapshot spiceproxy sendkey firewall mtunnel remote_migrate'.split(
    ' ',
  );

/** Rule [recorded version-and-auth]: three fields, no privilege needed. */
function versionOf(call: Call): Record<string, string> {
  const { version, release, repoid } = call.runtime.world.version;
  return { version, release, repoid };
}
