/** What the plans of new and of existing VMs have in common: their input, the configuration wanted, what will be remembered. */
import type { Step } from '../resources/step.ts';
import { appliedValues, type DesiredConfig, type DesiredEntry } from '../resources/vm/desired.ts';
import { printOwnership } from '../resources/vm/ownership.ts';
import { type ResolvedSecret, wantedConfig } from '../resources/vm/wanted.ts';
import type { ResolvedVm } from '../spec/types.ts';
import type { VmState } from '../state/stack-state.ts';
import type { Observed } from './observed.ts';
import { pciMappingsFor } from './pci.ts';
import type { Change } from './plan-types.ts';

export interface VmPlanInput {
  readonly stackName: string;
  readonly vm: ResolvedVm;
  readonly remembered: VmState | undefined;
  readonly observed: Observed;
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  /** A change that needs a restart brings one about. */
  readonly mayRestart: boolean;
  /** Its ownership line says that more is to come. */
  readonly asIncomplete: boolean;
  /** An id that is ours now and free once the old VM has been destroyed. */
  readonly freedId?: number;
}

export interface VmPlan {
  readonly change: Change;
  readonly steps: readonly Step[];
}

/**
 * What the state remembers once the VM was read back: the fields behind configuration keys, and its node. Its power only
 * where it was remembered so before; otherwise the switch and the wait for the guest still lie ahead, and whoever takes up
 * a run that dies between must find them undone.
 */
export function applied(vm: ResolvedVm, desired: DesiredConfig, lastPower?: unknown): Record<string, unknown> {
  const { node, power } = vm.fields;
  return { ...appliedValues(desired), node, ...(lastPower === power && { power }) };
}

export function secretKeys(entries: Iterable<DesiredEntry>): string[] {
  return [...entries].filter(({ desired }) => desired.kind === 'secret').map(({ key }) => key);
}

export function wanted(
  input: VmPlanInput,
  identity: { vmid: number; uuid: string | undefined } | undefined,
): DesiredConfig {
  const { vm, stackName, secrets, asIncomplete } = input;
  const line = printOwnership({
    stack: stackName,
    address: vm.address,
    vmid: identity?.vmid ?? 0,
    uuid: identity?.uuid,
    ...(asIncomplete && { incomplete: true, nonce: input.remembered?.nonce }),
  });
  return wantedConfig(vm.fields, { ownershipLine: line, secrets, pciMappings: pciMappingsFor(vm, input.observed) });
}
