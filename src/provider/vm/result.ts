/** What the host is told of a VM after something was done to it. */
import { managedNic } from '../../engine/ready/checks.ts';
import { readVm } from '../../resources/vm/read.ts';
import type { ResolvedVm } from '../../spec/types.ts';
import type { VmState } from '../../state/stack-state.ts';
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../cty/value.ts';
import type { ApplyResult } from '../provider.ts';
import type { Surroundings } from '../surroundings.ts';
import { managedPaths } from '../values/planned.ts';
import { computedValues } from './computed.ts';
import { ownerName } from './owner.ts';
import { writePrivate } from './private-state.ts';
import { USER_ATTRIBUTES, VM_SCHEMA } from './schema.ts';
import { digestOf, type VmSecrets } from './secrets.ts';
import { lookAt, refreshed } from './sight.ts';

export interface Applied {
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly vm: ResolvedVm;
  readonly state: VmState;
  readonly secrets: VmSecrets;
}

/** Everything is as planned; what only the server knew is filled in. */
export async function finished(surroundings: Surroundings, applied: Applied): Promise<ApplyResult> {
  const { planned, vm, state, secrets } = applied;
  const solo = { vm, remembered: state, timeouts: {}, secrets };
  const sight = await lookAt(surroundings, surroundings.work, solo);
  const observed =
    sight.vm ?? (await readVm(surroundings.work, state.node, state.vmid, { signal: surroundings.signal }));
  const { restartPending } = refreshed(planned, { ...sight, vm: observed }, solo, ownerName(surroundings.work));
  const computed = computedValues(observed, {
    addresses: state.addresses,
    managedNic: managedNic(vm.fields, Object.keys(state.macs)),
    restartPending,
    secretsDigest: digestOf(secrets),
  });
  return { state: filledIn(planned, computed), private: keptOf(applied), diagnostics: [] };
}

/** Something failed on the way: the attributes say what the VM is now, so that the next plan shows the rest. */
export async function halfDone(surroundings: Surroundings, applied: Applied, prior: CtyObject): Promise<ApplyResult> {
  const { planned, vm, state, secrets } = applied;
  const solo = { vm, remembered: state, timeouts: {}, secrets };
  const sight = await lookAt(surroundings, surroundings.work, solo);
  if (!sight.vm) return { state: null, private: undefined, diagnostics: [] };
  const seen = { ...sight, vm: sight.vm };
  const { attributes, restartPending } = refreshed(planned, seen, solo, ownerName(surroundings.work));
  const computed = computedValues(sight.vm, {
    addresses: state.addresses,
    managedNic: managedNic(vm.fields, Object.keys(state.macs)),
    restartPending,
    secretsDigest: typeof prior.secrets_digest === 'string' ? prior.secrets_digest : null,
  });
  // Where it is wanted and whether it is to run act only when they change, so they count as changed only when done.
  const acting = { node: state.lastApplied.node ?? prior.node, power: powerOf(state, prior) };
  const shown = { ...attributes, ...(acting as CtyObject) };
  return { state: filledIn(shown, computed), private: keptOf(applied), diagnostics: [] };
}

function powerOf(state: VmState, prior: CtyObject): CtyValue {
  const power = state.lastApplied.power;
  // What nobody said before is not said now.
  return typeof power === 'string' && prior.power !== null ? power : (prior.power ?? null);
}

function keptOf({ config, state }: Applied): Uint8Array {
  return writePrivate({ managed: managedPaths(USER_ATTRIBUTES, config), applied: state.lastApplied });
}

function filledIn(attributes: CtyObject, computed: CtyObject): CtyObject {
  return objectOf(
    Object.keys(VM_SCHEMA.attributes).map((name): [string, CtyValue] => [
      name,
      Object.hasOwn(computed, name) ? (computed[name] ?? null) : known(attributes[name] ?? null),
    ]),
  );
}

/** Nothing may stay unknown once it has been applied. */
function known(value: CtyValue): CtyValue {
  if (value === UNKNOWN) return null;
  return isObject(value) ? objectOf(Object.entries(value).map(([name, inner]) => [name, known(inner)])) : value;
}
