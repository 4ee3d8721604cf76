/**
 * /nodes/{node}/network and SDN: the bridges of a node, read-only. Only the built-in SDN zone of local bridges exists.
 */
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { Bridge } from '../../world/world.ts';

export const networkRoutes: Routes = {
  'GET /nodes/{node}/network': listInterfaces,
  'GET /nodes/{node}/network/{iface}': readInterface,
  'GET /nodes/{node}/sdn/zones/{zone}/bridges': listBridges,
};

/** Rule [recorded ha-and-mappings-empty]: the loopback device and the file's order take the first priorities. */
const FIRST_PRIORITY = 3;

function listInterfaces(call: CallTo<'GET /nodes/{node}/network'>): unknown[] {
  const type = call.params.type;
  const isBridgeRequested =
    type === undefined || ['bridge', 'any_bridge', 'any_local_bridge', 'include_sdn'].includes(type);
  if (!isBridgeRequested) return [];
  return bridgesOf(call)
    .filter(({ name }) => maySeeBridge(call, name))
    .map((bridge) => ({ iface: bridge.name, ...interfaceView(call, bridge) }));
}

/** Rule [source AC RPCEnvironment.pm check_sdn_bridge]: a right on the bridge or on any of its VLANs opens it. */
function maySeeBridge(call: Call, bridge: string): boolean {
  if (call.caller.isRoot) return true;
  const path = `/sdn/zones/localnetwork/${bridge}`;
  const privileges = ['SDN.Audit', 'SDN.Use'];
  if (call.may(path, privileges, { any: true })) return true;
  return call.runtime.world.access.acl.some(
    (entry) => entry.path.startsWith(`${path}/`) && call.may(entry.path, privileges, { any: true }),
  );
}

function readInterface(call: CallTo<'GET /nodes/{node}/network/{iface}'>): unknown {
  const name = call.params.iface;
  const bridge = bridgesOf(call).find((candidate) => candidate.name === name);
  if (!bridge) throw paramFault({ iface: 'interface does not exist' });
  return interfaceView(call, bridge);
}

function bridgesOf(call: Call): Bridge[] {
  return [...(call.runtime.world.nodes.get(call.node)?.bridges.values() ?? [])];
}

function interfaceView(call: Call, bridge: Bridge): Record<string, unknown> {
  const [address, netmask] = bridge.cidr?.split('/') ?? [];
  return {
    type: 'bridge',
    method: bridge.cidr === undefined ? 'manual' : 'static',
    method6: 'manual',
    families: ['inet'],
    priority: FIRST_PRIORITY + bridgesOf(call).findIndex((other) => other.name === bridge.name),
    autostart: 1,
    bridge_ports: '',
    bridge_stp: 'off',
    bridge_fd: '0',
    ...(bridge.active ? { active: 1 } : {}),
    ...(bridge.cidr === undefined ? {} : { cidr: bridge.cidr, address, netmask }),
    ...(bridge.vlanAware ? { bridge_vlan_aware: 1, bridge_vids: '2-4094' } : {}),
  };
}

/** Rule [recorded perm-readonly-checks]: name, ports and VLAN filtering of every bridge. */
function listBridges(call: CallTo<'GET /nodes/{node}/sdn/zones/{zone}/bridges'>): unknown[] {
  const zone = call.params.zone;
  if (zone !== 'localnetwork') throw dieFault(`zone '${zone}' does not exist`);
  return bridgesOf(call)
    .filter(({ name }) => maySeeBridge(call, name))
    .map(({ name, vlanAware }) => ({ name, ports: [], vlan_filtering: vlanAware ? 1 : 0 }));
}
