/** What the host is told of a VM after something was done to it. */

import type { ResolvedVm } from '../../kinds/stack.ts';
import { readVm } from '../../kinds/vm/observed.ts';
import { managedNic } from '../../kinds/vm/ready/checks.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../cty/value.ts';
import type { ApplyResult } from '../provider.ts';
import type { Surroundings } from '../surroundings.ts';
import { managedPaths } from '../values/planned.ts';
import { computedValues } from './computed.ts';
import { textOf } from './memory.ts';
import { ownerName } from './owner.ts';
import { writePrivate } from './private-state.ts';
import { USER_ATTRIBUTES, VM_SCHEMA } from './schema.ts';
import { digestOf, type VmSecrets } from './secrets.ts';
import { lookAt, refreshed, type SeenVm } from './sight.ts';

export interface Applied {
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly vm: ResolvedVm;
  readonly state: VmRecord;
  readonly secrets: VmSecrets;
}

/** What stood before. */
export interface Prior {
  readonly state: CtyObject;
  /** It ran, or was to run again. */
  readonly wasOn: boolean;
}

/** The VM as it is now that everything has been done. */
export async function seenAfter(surroundings: Surroundings, { vm, state, secrets }: Applied): Promise<SeenVm> {
  const solo = { vm, remembered: state, timeouts: {}, secrets };
  const sight = await lookAt(surroundings, surroundings.work, solo);
  const { work, signal } = surroundings;
  return { ...sight, vm: sight.vm ?? (await readVm(work, state.node, state.vmid, { signal })) };
}

/** Everything is as planned; what only the server knew is filled in. */
export function finished({ work }: Surroundings, applied: Applied, seen: SeenVm): ApplyResult {
  const { planned, vm, state, secrets } = applied;
  const solo = { vm, remembered: state, timeouts: {}, secrets };
  const { restartPending } = refreshed(planned, seen, solo, ownerName(work));
  const computed = computedValues(seen.vm, {
    addresses: state.addresses,
    managedNic: managedNic(vm.fields, Object.keys(state.macs)),
    restartPending,
    secretsDigest: digestOf(secrets),
  });
  // What changed by itself since the plan was made shows in the next one: the host insists on what it was promised.
  const promised = Object.entries(computed).map(([name, value]): [string, CtyValue] => {
    const before: CtyValue | undefined = planned[name];
    return [name, before === undefined || before === UNKNOWN ? value : before];
  });
  return { state: filledIn(planned, objectOf(promised)), private: keptOf(applied), diagnostics: [] };
}

/** Something failed on the way: the attributes say what the VM is now, so that the next plan shows the rest. */
export async function halfDone(surroundings: Surroundings, applied: Applied, prior: Prior): Promise<ApplyResult> {
  const { planned, vm, state, secrets } = applied;
  const solo = { vm, remembered: state, timeouts: {}, secrets };
  // Also after Ctrl-C: what stands has to be told.
  const calm = { ...surroundings, signal: new AbortController().signal };
  const sight = await lookAt(calm, surroundings.work, solo);
  if (!sight.vm) return { state: null, private: undefined, diagnostics: [] };
  const seen = { ...sight, vm: sight.vm };
  const { attributes, restartPending } = refreshed(planned, seen, solo, ownerName(surroundings.work));
  const computed = computedValues(sight.vm, {
    addresses: state.addresses,
    managedNic: managedNic(vm.fields, Object.keys(state.macs)),
    restartPending,
    secretsDigest: textOf(prior.state, 'secrets_digest') ?? null,
  });
  // Where it is wanted and whether it is to run act only when they change, so they count as changed only when done.
  const isOff = prior.wasOn && !sight.vm.running && vm.fields.power === 'running';
  const power = isOff ? (prior.state.power ?? null) : powerOf(state, prior.state);
  const acting = { node: state.lastApplied.node ?? prior.state.node, power };
  const shown = { ...attributes, ...(acting as CtyObject) };
  return { state: filledIn(shown, computed), private: keptOf(applied, isOff), diagnostics: [] };
}

function powerOf(state: VmRecord, prior: CtyObject): CtyValue {
  const power = state.lastApplied.power;
  // What nobody said before is not said now.
  return typeof power === 'string' && prior.power !== null ? power : (prior.power ?? null);
}

function keptOf({ config, state }: Applied, switchedOff = false): Uint8Array {
  const managed = managedPaths(USER_ATTRIBUTES, config);
  const { seed, oldSeeds, lastApplied } = state;
  const documents = { ...(seed && { seed }), ...(oldSeeds?.length && { oldSeeds }) };
  return writePrivate({ ...(switchedOff && { switchedOff }), managed, applied: lastApplied, ...documents });
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
