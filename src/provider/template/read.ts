/** `ReadResource` of a template: whether it is there, and still what it was made as. */

import { fieldsOfVm } from '../../engine/import/fields.ts';
import { finalFields } from '../../kinds/template/building.ts';
import { findCloudInitDrive } from '../../kinds/vm/disks.ts';
import { effectiveValues, type VmObserved } from '../../kinds/vm/observed.ts';
import { findOwnership, ownershipCounts } from '../../kinds/vm/ownership.ts';
import { type CtyObject, type CtyValue, objectOf } from '../cty/value.ts';
import type { ReadRequest, ReadResult } from '../provider.ts';
import { equalValues } from '../values/equal.ts';
import { fromFields } from '../values/from-fields.ts';
import type { VmContext } from '../vm/context.ts';
import { ownerName } from '../vm/owner.ts';
import { lookAt, refreshed } from '../vm/sight.ts';
import { memoryOfState } from './memory.ts';
import { readPrivate, writePrivate } from './private-state.ts';
import { USER_ATTRIBUTES } from './schema.ts';
import { wantedTemplate } from './wanted-template.ts';

export async function readTemplateState(context: VmContext, request: ReadRequest): Promise<ReadResult> {
  const { surroundings } = context;
  const { state } = request;
  if (!surroundings) return { state, private: request.private, diagnostics: [] };
  const kept = readPrivate(request.private);
  context.remember(state);
  const { template, timeouts } = wantedTemplate(state);
  const { fields } = template.vm;
  const vm = { ...template.vm, fields: template.install ? finalFields(fields, new Map()) : fields };
  const solo = { vm, remembered: memoryOfState(state, kept), timeouts, secrets: new Map() };
  const sight = await lookAt(surroundings, surroundings.looks, solo);
  // What is no template any more cannot be cloned as one: it was restored, or made anew.
  if (!sight.vm?.template) return { state: null, private: undefined, diagnostics: [] };
  const seen = { ...sight, vm: sight.vm };
  const { attributes } = refreshed(state, seen, solo, ownerName(surroundings.looks), {
    vm,
    attributes: USER_ATTRIBUTES,
  });
  const { name, ...others } = attributes;
  const isRenamed = !equalValues(name ?? null, state.name ?? null) && !isRetired(seen.vm, template.name);
  const isOther = Object.entries(others).some(([each, value]) => !equalValues(value, state[each] ?? null));
  // Its name is what its configuration calls it; that it is called otherwise shows by its recipe.
  const shown: CtyObject = {
    ...others,
    name: state.name ?? null,
    id: `${seen.vm.node}/${seen.vm.vmid}`,
    recipe: isRenamed || isOther ? null : (state.recipe ?? null),
  };
  const isChanged = isRenamed || isOther || kept.changed === true;
  return {
    state: objectOf(Object.entries<CtyValue>({ ...state, ...shown })),
    private: isChanged === (kept.changed === true) ? request.private : writePrivate({ ...kept, changed: true }),
    diagnostics: [],
  };
}

/** A run that was broken off has taken its name away already, for its successor. */
function isRetired({ vmid, current }: VmObserved, name: string): boolean {
  const [, beginning] = new RegExp(`^(.+)-retired-${vmid}$`).exec(current.get('name') ?? '') ?? [];
  return beginning !== undefined && name.startsWith(beginning);
}

/** Everything that can be read of a template; what it was made from only where its notes tell. */
export function importedTemplate(vm: VmObserved): CtyObject {
  const { written } = fieldsOfVm(vm);
  // How a guest is treated stands nowhere; a cloud-init drive says most of it.
  const guest = findCloudInitDrive(effectiveValues(vm)) ? 'cloud-init' : undefined;
  const attributes = fromFields({ ...written, ...(guest !== undefined && { guest }) }, USER_ATTRIBUTES);
  const line = findOwnership(vm.current.get('description') ?? '');
  const recipe = line && ownershipCounts(line, vm) ? line.recipe : undefined;
  const computed = { id: `${vm.node}/${vm.vmid}`, uuid: vm.uuid ?? null, recipe: recipe ?? null };
  return objectOf(Object.entries({ ...attributes, ...computed }));
}
