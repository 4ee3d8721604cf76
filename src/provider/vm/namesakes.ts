/**
 * VMs of this token that bear the name of one which is about to be made. Under an id of its own a VM may be made beside
 * them: as the successor of one that goes afterwards, or in another workspace. That is said, not refused.
 */

import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedVm } from '../../kinds/stack.ts';
import { lostVms } from '../../kinds/vm/plan/lost-vms.ts';
import { attribute } from '../cty/path.ts';
import { type CtyObject, UNKNOWN } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { equalValues } from '../values/equal.ts';

export function namesakeWarnings(stackName: string, vm: ResolvedVm, observed: Observed): ProviderDiagnostic[] {
  const { name, vmid } = vm.fields;
  if (vmid === undefined) return [];
  return lostVms(stackName, [vm], observed)
    .filter((other) => other.vmid !== vmid)
    .map((other) => ({
      severity: 'warning',
      summary: 'Another VM has this name',
      detail: `VM ${other.vmid} on ${other.node} is called "${name}" too, and was made by this token. It stays as it is; VM ${vmid} is made beside it.`,
      path: [attribute('vmid')],
    }));
}

/** Nothing tells the successor from its predecessor while both are there. */
export function keepsNameAndId(planned: CtyObject, prior: CtyObject): boolean {
  const same = (name: string) => equalValues(planned[name] ?? null, prior[name] ?? null);
  return same('name') && (same('vmid') || planned.vmid === UNKNOWN);
}
