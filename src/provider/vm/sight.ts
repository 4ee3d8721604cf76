/** Looking at one VM of the host's state: is it there, is it still the same, and what of it differs from the state. */
import { ProxwrightError } from '../../base/errors.ts';
import { fieldsOfVm } from '../../engine/import/fields.ts';
import { observe } from '../../engine/observe.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedVm } from '../../kinds/stack.ts';
import { diffVm } from '../../kinds/vm/diff/diff.ts';
import { writtenHa } from '../../kinds/vm/ha.ts';
import { notOurs, sameVm } from '../../kinds/vm/identity.ts';
import { foundHa } from '../../kinds/vm/observe-ha.ts';
import { effectiveValues, type VmObserved } from '../../kinds/vm/observed.ts';
import { wanted } from '../../kinds/vm/plan/desired-vm.ts';
import { haDifferences } from '../../kinds/vm/plan/existing.ts';
import type { Pve } from '../../pve/index.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Attributes } from '../schema/model.ts';
import type { Surroundings } from '../surroundings.ts';
import { fromFields } from '../values/from-fields.ts';
import { refreshedAttributes } from '../values/refreshed.ts';
import { USER_ATTRIBUTES } from './schema.ts';
import { type SoloVm, soloStack, soloState } from './solo-session.ts';
import { wantedVm } from './wanted-vm.ts';

export interface Sight {
  readonly observed: Observed;
  /** Undefined where it is gone. */
  readonly vm: VmObserved | undefined;
}

/** Of a VM that is there. */
export type SeenVm = Sight & { readonly vm: VmObserved };

/** Refuses a stranger under the id of a VM of ours: it is neither read nor, later, destroyed. */
export async function lookAt(surroundings: Surroundings, pve: Pve, solo: SoloVm): Promise<Sight> {
  const { vm, remembered } = solo;
  const stack = soloStack(surroundings, solo);
  const state = soloState(stack.name, solo);
  const observed = await observe({ pve, stack, state, signal: surroundings.signal });
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'hidden') {
    throw new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      detail: `VM ${remembered?.vmid} cannot be read: it needs ${found.needs}.`,
      hint: 'Grant it to the user and to its token.',
    });
  }
  if (found?.kind !== 'present') return { observed, vm: undefined };
  if (remembered && !sameVm(remembered, found.vm)) {
    throw notOurs({ address: vm.address, recorded: remembered, observed: found.vm });
  }
  return { observed, vm: found.vm };
}

export interface Refreshed {
  /** The user's attributes, in their own spelling except where the VM is something else. */
  readonly attributes: CtyObject;
  readonly restartPending: readonly string[];
}

/** Who it is that is looked at, as the engine has it, and the attributes of its resource. */
export interface Looked {
  readonly vm: ResolvedVm;
  readonly attributes: Attributes;
}

/** What the state says, corrected by what the VM is. */
export function refreshed(
  state: CtyObject,
  sight: SeenVm,
  solo: SoloVm,
  stackName: string,
  { vm, attributes }: Looked = { vm: wantedVm(state, { exists: true }).vm, attributes: USER_ATTRIBUTES },
): Refreshed {
  const input = {
    stackName,
    vm,
    recorded: solo.remembered,
    observed: sight.observed,
    secrets: solo.secrets,
    mayRestart: false,
    asIncomplete: false,
    readyMs: 0,
  };
  const { vmid, uuid } = sight.vm;
  const last = solo.remembered?.lastApplied;
  const diff = diffVm(wanted(input, { vmid, uuid }, effectiveValues(sight.vm)), sight.vm, last);
  const differing = [...diff.differences, ...haDifferences(vm, sight.observed, vmid, last)]
    .map(({ path }) => path)
    .filter((path) => path !== 'ownership');
  const found = { ...fieldsOfVm(sight.vm).written, ha: writtenHa(foundHa(sight.observed, vmid)) };
  const actual = fromFields(found, attributes);
  return { attributes: refreshedAttributes({ state, actual, differing }), restartPending: diff.restartPending };
}
