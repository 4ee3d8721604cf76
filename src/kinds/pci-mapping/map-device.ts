/**
 * `pci.map`: a mapping for a device that the stack names by its address. Proxwright creates it, or adds the entry of one
 * more node. It never removes an entry or a mapping, because other VMs may rely on them.
 */
import { ProxwrightError } from '../../base/errors.ts';
import type { DeviceMapping } from '../../pve/index.ts';
import type { Action, ActionContext } from '../action.ts';
import { type AclPath, type Need, need, type OneOf, on } from '../privileges/need.ts';
import { inRounds } from '../safety/rounds.ts';
import { mappedPaths, nodeOfEntry, type PciMapInput } from './mapping.ts';

export const mapPciDevice: Action<PciMapInput> = (context, input) =>
  inRounds(context, 'create the PCI mapping', async () => {
    const { mapping } = input;
    const observed = await findMapping(context, mapping);
    const missing = input.map.filter((entry) => !observed || !hasEntry(observed, entry));
    if (missing.length === 0) return 'done';
    await context.intend({ mapping, map: missing });
    if (observed) await addEntries(context, observed, missing);
    else await create(context, input);
    return 'again';
  });

async function findMapping({ pve, signal }: ActionContext, id: string): Promise<DeviceMapping | undefined> {
  return (await pve.cluster.mapping.pci({}, { signal })).find((mapping) => mapping.id === id);
}

/** Compares devices, not spelling. */
function hasEntry({ map }: DeviceMapping, entry: string): boolean {
  const node = nodeOfEntry(entry) ?? '';
  const paths = mappedPaths(map, node);
  return mappedPaths([entry], node).every((path) => paths.includes(path));
}

async function create(context: ActionContext, { mapping, map, mdev }: PciMapInput): Promise<void> {
  const { pve, signal, log, stack } = context;
  const description = `Created by Proxwright for the stack ${stack}.`;
  try {
    await pve.cluster.mapping.createPci({ id: mapping, map, description, ...(mdev && { mdev }) }, { signal });
  } catch (error) {
    // Another client created it first, or a request of an interrupted run arrived late. One that we cannot see is an error.
    const isThere = error instanceof ProxwrightError && error.code === 'ALREADY_EXISTS';
    if (!isThere || !(await findMapping(context, mapping))) throw error;
    return;
  }
  log.log('info', `Created the PCI mapping ${mapping}: ${map.join(' and ')}`);
}

async function addEntries({ pve, signal, log }: ActionContext, observed: DeviceMapping, missing: readonly string[]) {
  const { id, map, digest } = observed;
  await pve.cluster.mapping.updatePci(id, { map: [...map, ...missing], digest }, { signal });
  log.log('info', `Added to the PCI mapping ${id}: ${missing.join(' and ')}`);
}

/** A plan creates a mapping only if it sees that none exists, so the token needs access to all of them. */
const ALL_MAPPINGS: OneOf<AclPath> = [{ path: '/mapping/pci', below: true }];

export function pciMapNeeds(): Need[] {
  const cause = { field: 'pci' };
  return [
    need('Mapping.Modify', ALL_MAPPINGS, cause),
    need('Mapping.Use', ALL_MAPPINGS, cause),
    // The device's ids are read from its node.
    need(['Sys.Audit', 'Sys.Modify'], on('/'), cause),
  ];
}
