/** Reads the resources of the HA manager: one request for all VMs, and none when no VM of the stack sets `ha`. */
import type { HaResource, Pve } from '../../../pve/index.ts';
import { readIfAllowed } from '../../cluster.ts';
import type { Observed } from '../../observed.ts';
import type { ResolvedStack } from '../../stack.ts';
import type { HaFields } from '../fields/ha.ts';

export async function observeHa(
  pve: Pve,
  stack: ResolvedStack,
  signal: AbortSignal | undefined,
): Promise<Pick<Observed, 'ha'>> {
  if (stack.vms.every(({ fields }) => fields.ha === undefined)) return {};
  return { ha: await readHa(pve, signal) };
}

/** Reads them even if the stack does not mention them; an import needs that. */
export async function readHa(pve: Pve, signal: AbortSignal | undefined): Promise<NonNullable<Observed['ha']>> {
  const read = async () => {
    const resources = await pve.cluster.ha.list({ signal });
    return new Map(resources.map((resource) => [vmidOf(resource), resource]));
  };
  return readIfAllowed(read, 'Sys.Audit on /');
}

function vmidOf({ sid }: HaResource): number {
  return Number(sid.slice('vm:'.length));
}

/** The desired values; undefined when the HA manager cannot be read, so that nothing is compared. */
export function comparableHa(desired: HaFields | undefined, observed: Observed): HaFields | undefined {
  return observed.ha?.ok ? desired : undefined;
}

export function observedHa(observed: Observed, vmid: number): HaResource | undefined {
  return observed.ha?.ok ? observed.ha.value.get(vmid) : undefined;
}
