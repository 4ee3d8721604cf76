/** Reads which VMs the HA manager looks after: one read for all of them, and none where no stack asks. */
import { hasCode } from '../../base/errors.ts';
import type { HaResource, Pve } from '../../pve/index.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedStack } from '../stack.ts';
import type { HaFields } from './fields/ha.ts';

export async function observeHa(
  pve: Pve,
  stack: ResolvedStack,
  signal: AbortSignal | undefined,
): Promise<Pick<Observed, 'ha'>> {
  if (stack.vms.every(({ fields }) => fields.ha === undefined)) return {};
  return { ha: await readHa(pve, signal) };
}

/** Whether anybody mentions it or not: what an import finds. */
export async function readHa(pve: Pve, signal: AbortSignal | undefined): Promise<NonNullable<Observed['ha']>> {
  try {
    const resources = await pve.cluster.ha.list({ signal });
    return { ok: true, value: new Map(resources.map((resource) => [vmidOf(resource), resource])) };
  } catch (error) {
    if (!hasCode(error, 'PRIVILEGE_MISSING')) throw error;
    return { ok: false, needs: 'Sys.Audit on /' };
  }
}

function vmidOf({ sid }: HaResource): number {
  return Number(sid.slice('vm:'.length));
}

/** What the file wants, as far as it can be compared with what was found. */
export function comparableHa(wish: HaFields | undefined, observed: Observed): HaFields | undefined {
  return observed.ha?.ok ? wish : undefined;
}

export function foundHa(observed: Observed, vmid: number): HaResource | undefined {
  return observed.ha?.ok ? observed.ha.value.get(vmid) : undefined;
}
