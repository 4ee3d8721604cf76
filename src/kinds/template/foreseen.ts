/** A template as it will be when it is finished, so that its clones can be planned before it exists. Pure. */

import type { DesiredConfig } from '../vm/config/desired.ts';
import { parseDrive } from '../vm/config/disks.ts';
import { packDesired } from '../vm/config/packed.ts';
import { printPropertyOf } from '../vm/config/parts.ts';
import { configureWrites } from '../vm/config/writes.ts';
import type { VmObserved } from '../vm/observed.ts';
import { desiredSizes } from '../vm/plan/creation.ts';
import { desiredValuesOf, type Owner, written } from '../vm/privileges/forecast.ts';
import type { TemplateCandidate } from './observed.ts';
import type { ResolvedTemplate } from './stack.ts';

/** With all desired values: without the installation medium, with disks of their final size. */
export function finished(vm: VmObserved, desired: DesiredConfig, owner: Owner): VmObserved {
  const values = desiredValuesOf(packDesired(desired.values()), owner, vm);
  const made = configureWrites(values, vm).reduce((each, write) => written(each, write, values), vm);
  const current = new Map(made.current);
  for (const { slot, sizeBytes } of desiredSizes(desired)) {
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
