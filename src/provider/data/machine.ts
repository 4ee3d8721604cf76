/** What is told of one VM or template, in the words of `proxwright_vm`. */
import { invariant } from '../../base/errors.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { stripOwnership } from '../../kinds/vm/ownership.ts';
import { parseTags } from '../../pve/index.ts';
import type { CtyValue } from '../cty/value.ts';
import type { Attribute, Attributes } from '../schema/model.ts';
import { COMPUTED_ATTRIBUTES, computedValues } from '../vm/computed.ts';
import { computed } from './define.ts';

/** The same attribute as the resource has, in other words where it needs them. */
function asInResource(name: string, description?: string): Attribute {
  const attribute = COMPUTED_ATTRIBUTES[name];
  invariant(attribute !== undefined, `proxwright_vm has no ${name}.`);
  return { ...attribute, ...(description !== undefined && { description }) };
}

export const MACHINE_RESULTS: Attributes = {
  uuid: computed('string', 'Its uuid. With the id it is its identity: an id alone can be recycled.'),
  tags: computed(['set', 'string'], 'Its tags.'),
  description: computed('string', 'Its notes.'),
  disks: asInResource('all_disks', 'Its drives, by slot.'),
  nics: asInResource('all_nics', 'Its network cards, by slot.'),
  macs: asInResource('macs'),
};

/** Configured values; no guest is asked anything. */
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
