/** The results for one VM or template, named as in `proxwright_vm`. */
import { invariant } from '../../../../base/errors.ts';
import type { VmObserved } from '../../../../kinds/vm/observed.ts';
import { stripOwnership } from '../../../../kinds/vm/ownership.ts';
import { parseTags } from '../../../../pve/index.ts';
import type { CtyValue } from '../../../cty/value.ts';
import { type Attribute, type Attributes, computed } from '../../../schema/model.ts';
import { computedValues } from '../computed.ts';
import { COMPUTED_ATTRIBUTES } from '../schema.ts';

/** The attribute of the resource, with another description where it needs one. */
function asInResource(name: string, description?: string): Attribute {
  const attribute = COMPUTED_ATTRIBUTES[name];
  invariant(attribute !== undefined, `proxwright_vm has no ${name}.`);
  return { ...attribute, ...(description !== undefined && { description }) };
}

export const MACHINE_RESULTS: Attributes = {
  uuid: computed('string', 'Its uuid. Together with the id it identifies the VM: an id alone can be reused.'),
  tags: computed(['set', 'string'], 'Its tags.'),
  description: computed('string', 'Its notes.'),
  disks: asInResource('all_disks', 'Its drives, by slot.'),
  nics: asInResource('all_nics', 'Its network cards, by slot.'),
  macs: asInResource('macs'),
};

/** Configured values; the guest is not asked. */
export function machineValues(vm: VmObserved): Readonly<Record<string, CtyValue>> {
  const nothing = { addresses: {}, managedNic: undefined, restartPending: [], secretsDigest: null };
  const { all_disks: disks = null, all_nics: nics = null, macs = null } = computedValues(vm, nothing);
  const notes = stripOwnership(vm.current.get('description') ?? '').trim();
  return {
    vmid: vm.vmid,
    node: vm.node,
    name: vm.current.get('name') ?? null,
    uuid: vm.uuid ?? null,
    tags: parseTags(vm.current.get('tags') ?? '', { caseSensitive: true, keepOrder: false }),
    description: notes === '' ? null : notes,
    disks,
    nics,
    macs,
  };
}
