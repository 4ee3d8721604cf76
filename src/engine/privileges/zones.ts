/** VNets stand below their own zone, and which one that is only those may read who may look at the network. */

import { LOCAL_ZONE } from '../../kinds/vm/privileges/devices.ts';
import type { AclPath } from '../../kinds/vm/privileges/need.ts';
import type { Pve } from '../../pve/client.ts';
import type { Grants } from './grants.ts';
import type { Requirement } from './requirement.ts';

/** What every installation calls its bridges; anything else may be a VNet. */
const PLAIN_BRIDGE = /^vmbr\d+$/;

/** The same requirements, those about networks that may be VNets with the paths of all zones we hear of. */
export async function withZones(
  gaps: readonly Requirement[],
  grants: Grants,
  pve: Pve,
  signal: AbortSignal | undefined,
): Promise<Requirement[]> {
  if (!gaps.some(mayBeVnet)) return [...gaps];
  const zones = await zonesHeardOf(pve, signal);
  const widened = gaps.map((gap): Requirement => {
    if (!mayBeVnet(gap)) return gap;
    const [{ path }] = gap.paths;
    const others = zones.map((zone): AclPath => ({ path: path.replace(LOCAL_ZONE, `/sdn/zones/${zone}`) }));
    return { ...gap, paths: [...gap.paths, ...others] };
  });
  await grants.ask(widened.flatMap(({ paths }) => paths.map(({ path }) => path)));
  return widened.filter((gap) => !grants.holds(gap));
}

function mayBeVnet({ paths: [{ path }] }: Requirement): boolean {
  const bridge = path.startsWith(`${LOCAL_ZONE}/`) ? path.slice(LOCAL_ZONE.length + 1).split('/')[0] : undefined;
  return bridge !== undefined && !PLAIN_BRIDGE.test(bridge);
}

/** From entries that concern this token, and from the list of resources where it shows zones. */
async function zonesHeardOf(pve: Pve, signal: AbortSignal | undefined): Promise<string[]> {
  const [permissions, resources] = await Promise.all([
    pve.access.permissions({}, { signal }),
    pve.cluster.resources({}, { signal }),
  ]);
  const fromEntries = Object.keys(permissions).flatMap((path) => /^\/sdn\/zones\/([^/]+)/.exec(path)?.[1] ?? []);
  const fromResources = resources.flatMap(
    ({ id }) => /^(?:sdn\/[^/]+|network\/[^/]+\/zone)\/(.+)$/.exec(id)?.[1] ?? [],
  );
  return [...new Set([...fromEntries, ...fromResources])].filter((zone) => !LOCAL_ZONE.endsWith(`/${zone}`));
}
