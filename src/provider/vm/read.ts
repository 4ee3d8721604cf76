/** `ReadResource`: what a VM is now, in the words of the state. Nothing is waited for, no guest is asked. */
import { fieldsOfVm } from '../../engine/import/fields.ts';
import { findCloudInitDrive } from '../../kinds/vm/disks.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { effectiveValues, type VmObserved } from '../../kinds/vm/observed.ts';
import { macsOf } from '../../kinds/vm/parts.ts';
import { managedNic, staticAddresses } from '../../kinds/vm/ready/checks.ts';
import { type CtyObject, objectOf } from '../cty/value.ts';
import type { ReadRequest, ReadResult } from '../provider.ts';
import { fromFields } from '../values/from-fields.ts';
import { computedValues } from './computed.ts';
import type { VmContext } from './context.ts';
import { addressesOf, memoryOfState, textOf } from './memory.ts';
import { ownerName } from './owner.ts';
import { readPrivate, writePrivate } from './private-state.ts';
import { USER_ATTRIBUTES } from './schema.ts';
import { lookAt, refreshed } from './sight.ts';
import { isSwitchedOff } from './switched-off.ts';
import { wantedVm } from './wanted-vm.ts';

export async function readVmState(context: VmContext, request: ReadRequest): Promise<ReadResult> {
  const { surroundings } = context;
  const unchanged = { state: request.state, private: request.private, diagnostics: [] };
  if (!surroundings) return unchanged;
  const kept = readPrivate(request.private);
  const remembered = memoryOfState(request.state, kept);
  context.remember(request.state);
  const { vm, timeouts } = wantedVm(request.state, { exists: true });
  const solo = { vm, remembered, timeouts, secrets: new Map() };
  const sight = await lookAt(surroundings, surroundings.looks, solo);
  if (!sight.vm) return { state: null, private: undefined, diagnostics: [] };
  if (kept.imported) {
    return { state: importedState(sight.vm), private: writePrivate({ managed: [], applied: {} }), diagnostics: [] };
  }
  const seen = { ...sight, vm: sight.vm };
  const { attributes, restartPending } = refreshed(request.state, seen, solo, ownerName(surroundings.looks));
  const facts = {
    addresses: addressesOf(request.state),
    managedNic: managedNic(vm.fields, Object.keys(macsOf(effectiveValues(sight.vm)))),
    restartPending,
    secretsDigest: textOf(request.state, 'secrets_digest') ?? null,
  };
  const { switchedOff: _, ...rest } = kept;
  const isOff = await isSwitchedOff(surroundings, request.state, kept, sight.vm);
  return {
    state: objectOf(Object.entries({ ...attributes, ...computedValues(sight.vm, facts) })),
    private:
      isOff === (kept.switchedOff === true)
        ? request.private
        : writePrivate(isOff ? { ...rest, switchedOff: true } : rest),
    diagnostics: [],
  };
}

/** Everything that can be read of a VM: what of it a configuration will manage is not known yet. */
export function importedState(vm: VmObserved): CtyObject {
  const { written, fields } = fieldsOfVm(vm);
  // How a guest is treated stands nowhere; a cloud-init drive says most of it.
  const guest = findCloudInitDrive(effectiveValues(vm)) ? 'cloud-init' : undefined;
  const attributes = fromFields({ ...written, ...(guest !== undefined && { guest }) }, USER_ATTRIBUTES);
  const facts = {
    addresses: configuredAddresses(fields, vm),
    managedNic: managedNic(fields, Object.keys(macsOf(vm.current))),
    restartPending: [],
    secretsDigest: null,
  };
  return objectOf(Object.entries({ ...attributes, ...computedValues(vm, facts) }));
}

function configuredAddresses(fields: VmFields, vm: VmObserved): Record<string, string[]> {
  const slots = Object.keys(macsOf(vm.current));
  return Object.fromEntries(slots.map((slot) => [slot, staticAddresses(fields.nics?.[slot])]));
}
