/**
 * `pci.map`: a mapping for a device that the stack names by its address. It is made, or given the entry of one more node;
 * nothing that stands in it is taken out, and no mapping is ever deleted, because nobody knows who else relies on it.
 */
import { ProxwrightError } from '../../base/errors.ts';
import type { DeviceMapping } from '../../pve/index.ts';
import type { Action, ActionContext } from '../action.ts';
import { inRounds } from '../vm/actions/look.ts';
import { type AclPath, type Need, need, type OneOf, on } from '../vm/privileges/need.ts';
import { mappedPaths, nodeOfEntry, type PciMapInput } from './mapping.ts';

export const mapPciDevice: Action<PciMapInput> = (context, input) =>
  inRounds(context, 'make the PCI mapping', async () => {
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

/** Spelled as it may be: what counts is that the node hands out the device. */
function hasEntry({ map }: DeviceMapping, entry: string): boolean {
  const node = nodeOfEntry(entry) ?? '';
  const paths = mappedPaths(map, node);
  return mappedPaths([entry], node).every((path) => paths.includes(path));
}

async function create(context: ActionContext, { mapping, map, mdev }: PciMapInput): Promise<void> {
  const { pve, signal, log, stack } = context;
  const description = `Made by Proxwright for the stack ${stack}.`;
  try {
    await pve.cluster.mapping.createPci({ id: mapping, map, description, ...(mdev && { mdev }) }, { signal });
  } catch (error) {
    // Somebody was quicker, or our own request of a run that died arrived after all. What we cannot see stays an error.
    const isThere = error instanceof ProxwrightError && error.code === 'ALREADY_EXISTS';
    if (!isThere || !(await findMapping(context, mapping))) throw error;
    return;
  }
  log.log('info', `Made the PCI mapping ${mapping}: ${map.join(' and ')}`);
}

async function addEntries({ pve, signal, log }: ActionContext, observed: DeviceMapping, missing: readonly string[]) {
  const { id, map, digest } = observed;
  await pve.cluster.mapping.updatePci(id, { map: [...map, ...missing], digest }, { signal });
  log.log('info', `Added to the PCI mapping ${id}: ${missing.join(' and ')}`);
}

/** A plan makes one only where it sees that none is there, so the whole folder must be open to the token. */
const ALL_MAPPINGS: OneOf<AclPath> = [{ path: '/mapping/pci', below: true }];

export function pciMapNeeds(): Need[] {
  const cause = { field: 'pci' };
  return [
    need('Mapping.Modify', ALL_MAPPINGS, cause),
    need('Mapping.Use', ALL_MAPPINGS, cause),
    // The ids of the device are read from its node.
    need(['Sys.Audit', 'Sys.Modify'], on('/'), cause),
  ];
}
