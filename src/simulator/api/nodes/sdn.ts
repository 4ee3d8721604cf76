/** Software-defined networking, which nobody has configured: only the built-in zone of local bridges exists. */
import type { CallTo, Routes } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import { bridgesOf, maySeeBridge } from './network.ts';

export const sdnRoutes: Routes = {
  'GET /cluster/sdn/zones': () => [],
  'GET /cluster/sdn/vnets': () => [],
  'GET /nodes/{node}/sdn/zones/{zone}/bridges': listBridges,
};

/** Rule [recorded perm-readonly-checks]: name, ports and VLAN filtering of every bridge. */
function listBridges(call: CallTo<'GET /nodes/{node}/sdn/zones/{zone}/bridges'>): unknown[] {
  const zone = call.params.zone;
  if (zone !== 'localnetwork') throw dieFault(`zone '${zone}' does not exist`);
  return bridgesOf(call)
    .filter(({ name }) => maySeeBridge(call, name))
    .map(({ name, vlanAware }) => ({ name, ports: [], vlan_filtering: vlanAware ? 1 : 0 }));
}
