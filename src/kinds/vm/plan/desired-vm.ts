/** What the plans of new and of existing VMs have in common: their input, the configuration wanted, what will be remembered. */

import type { Change } from '../../change.ts';
import type { Observed } from '../../observed.ts';
import { pciMappingsFor } from '../../pci-mapping/plan.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { appliedValues, type DesiredConfig, type DesiredEntry } from '../desired.ts';
import { desiredConfig, type ResolvedSecret } from '../desired-config.ts';
import { printOwnership } from '../ownership.ts';
import { readyChecks } from '../ready/checks.ts';
import type { VmRecord } from '../record.ts';
import { seedFieldsOf } from '../seed/fields.ts';
import { vmStep } from '../steps.ts';
import { seedPlace } from './seed-place.ts';

export interface VmPlanInput {
  readonly stackName: string;
  readonly vm: ResolvedVm;
  readonly recorded: VmRecord | undefined;
  readonly observed: Observed;
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  /** How long a started guest may take until it is ready, where the VM itself does not say. */
  readonly readyMs: number;
  /** A change that needs a restart brings one about. */
  readonly mayRestart: boolean;
  /** Its ownership line says that more is to come. */
  readonly asIncomplete: boolean;
  /** Of a template: what it is made from. */
  readonly recipe?: string;
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

/** Makes the volume with documents of one's own; undefined where there are none. */
export function seedStep(vm: ResolvedVm): Step | undefined {
  const fields = seedFieldsOf(vm.fields);
  const storage = vm.fields.cloud_init?.storage;
  return fields && storage !== undefined ? vmStep(vm.address, 'vm.seed', { storage, fields }) : undefined;
}

/** Waits for the guest that a step before started. */
export function readyStep({ address, fields }: ResolvedVm, readyMs: number): Step {
  const { nics } = fields;
  return vmStep(address, 'vm.ready', { checks: readyChecks(fields, readyMs), ...(nics && { nics }) });
}

export function secretKeys(entries: Iterable<DesiredEntry>): string[] {
  return [...entries].filter(({ desired }) => desired.kind === 'secret').map(({ key }) => key);
}

/** `base` are the values of the VM, or of what it is made from. */
export function wanted(
  input: VmPlanInput,
  identity: { vmid: number; uuid: string | undefined } | undefined,
  base: ReadonlyMap<string, string>,
): DesiredConfig {
  const { vm, stackName, secrets, asIncomplete } = input;
  const line = printOwnership({
    stack: stackName,
    address: vm.address,
    vmid: identity?.vmid ?? 0,
    uuid: identity?.uuid,
    recipe: input.recipe,
    ...(asIncomplete && { incomplete: true, nonce: input.recorded?.nonce }),
  });
  return desiredConfig(vm.fields, {
    ownershipLine: line,
    secrets,
    pciMappings: pciMappingsFor(vm, input.observed),
    seed: seedPlace({
      fields: vm.fields,
      secrets,
      base,
      uuid: identity?.uuid,
      remembered: input.recorded?.seed?.volid,
    }),
  });
}
