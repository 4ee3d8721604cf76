/** The version, the lists of what is below a path, and the parts that are empty in every simulated cluster. */
import type { Call, Routes } from '../core/call.ts';
import { loadVm } from '../vm/config/config-file.ts';
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

const none = () => [];
/** Rule [recorded ha-and-mappings-empty]: the digest of a file that does not exist is that of an empty one. */
const noOptions = () => ({ digest: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' });

/**
 * An untouched firewall, no containers, no jobs, no SDN except the local bridges. They can be read but not changed.
 * Rule [observed 9.2.11]: the answers of a host right after its installation.
 */
export const emptyRoutes: Routes = {
  'GET /cluster/firewall': () => indexOf('name', 'aliases rules options groups ipset macros refs'.split(' ')),
  'GET /cluster/firewall/aliases': none,
  'GET /cluster/firewall/groups': none,
  'GET /cluster/firewall/ipset': none,
  'GET /cluster/firewall/options': noOptions,
  'GET /cluster/firewall/refs': none,
  'GET /cluster/firewall/rules': none,
  'GET /nodes/{node}/firewall': () => indexOf('name', ['rules', 'options', 'log']),
  'GET /nodes/{node}/firewall/options': noOptions,
  'GET /nodes/{node}/firewall/rules': none,
  // Rule [recorded unknown-vm]: these answer even for a VM that does not exist.
  'GET /nodes/{node}/qemu/{vmid}/firewall': () => indexOf('name', 'rules aliases ipset refs options'.split(' ')),
  'GET /nodes/{node}/qemu/{vmid}/firewall/aliases': none,
  'GET /nodes/{node}/qemu/{vmid}/firewall/ipset': none,
  'GET /nodes/{node}/qemu/{vmid}/firewall/options': noOptions,
  'GET /nodes/{node}/qemu/{vmid}/firewall/refs': none,
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules': none,
  'GET /nodes/{node}/lxc': none,
  'GET /cluster/backup': none,
  'GET /cluster/backup-info/not-backed-up': notBackedUp,
  'GET /cluster/jobs': () => indexOf('subdir', ['schedule-analyze', 'realm-sync']),
  'GET /cluster/jobs/realm-sync': none,
  'GET /cluster/metrics': () => indexOf('name', ['server']),
  'GET /cluster/metrics/server': none,
  'GET /cluster/replication': none,
  'GET /nodes/{node}/replication': none,
  'GET /access/tfa': none,
  'GET /access/tfa/{userid}': none,
  'GET /cluster/sdn/controllers': none,
  'GET /cluster/sdn/dns': none,
  'GET /cluster/sdn/vnets': none,
  'GET /cluster/sdn/zones': none,
};

/** Rule [source PM API2/BackupInfo.pm get_guests_not_in_backup]: without a job every guest that the caller may see. */
function notBackedUp(call: Call): unknown[] {
  const { world } = call.runtime;
  return [...world.vms.values()]
    .filter(({ vmid }) => call.may(`/vms/${vmid}`, ['VM.Audit']))
    .map(({ vmid, node }) => ({
      vmid,
      type: 'qemu',
      name: loadVm(world, node, vmid).config.current.get('name') ?? `VM ${vmid}`,
    }));
}
