/** What the clones of a template will find once it is finished, so that they can be planned before it is made. Pure. */
import type { DesiredConfig } from '../../resources/vm/desired.ts';
import { parseDrive } from '../../resources/vm/disks.ts';
import type { VmObserved } from '../../resources/vm/observed.ts';
import { packDesired } from '../../resources/vm/packed.ts';
import { printPropertyOf } from '../../resources/vm/parts.ts';
import { type Owner, wishesOf, written } from '../../resources/vm/privileges/forecast.ts';
import { configureWrites } from '../../resources/vm/writes.ts';
import type { ResolvedTemplate } from '../../spec/types.ts';
import type { TemplateCandidate } from '../observed.ts';
import { sizesWanted } from '../plan-creation.ts';

/** Everything as wanted: without its medium, with disks of the size they get. */
export function finished(vm: VmObserved, desired: DesiredConfig, owner: Owner): VmObserved {
  const wishes = wishesOf(packDesired(desired.values()), owner, vm);
  const made = configureWrites(wishes, vm).reduce((each, write) => written(each, write, wishes), vm);
  const current = new Map(made.current);
  for (const { slot, sizeBytes } of sizesWanted(desired)) {
    const text = current.get(slot);
    const drive = text === undefined ? undefined : parseDrive(slot, text);
    if (!drive || (drive.sizeBytes ?? 0) >= sizeBytes) continue;
    current.set(slot, printPropertyOf(slot, drive.value.with('size', `${Math.ceil(sizeBytes / 1024)}K`)));
  }
  return { ...made, current };
}

export function candidateOf({ name, vm }: ResolvedTemplate, made: VmObserved): TemplateCandidate {
  return {
    vmid: made.vmid,
    node: vm.fields.node,
    name,
    isTemplate: true,
    vm: { ok: true, value: made },
    address: vm.address,
  };
}
