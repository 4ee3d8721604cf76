/** What a verification looked at, VM by VM: identity and every field of the file beside what was found. Pure. */
import type { Address } from '../base/address.ts';
import { type ComparedField, comparedFields } from '../kinds/vm/diff/diff.ts';
import { comparedHa } from '../kinds/vm/ha.ts';
import { comparableHa, foundHa } from '../kinds/vm/observe-ha.ts';
import { effectiveValues } from '../kinds/vm/observed.ts';
import { wanted } from '../kinds/vm/plan/desired-vm.ts';
import type { PlanInput } from './plan.ts';

export interface VmEvidence {
  /** The uuid that is remembered, and the one that was found. */
  readonly uuid: { readonly wanted: string | null; readonly found: string | null };
  readonly fields: readonly ComparedField[];
}

/** VMs that are not there, or that may not be read, have nothing to compare. */
export function evidenceOf({
  stack,
  state,
  observed,
  secrets,
}: Pick<PlanInput, 'stack' | 'state' | 'observed' | 'secrets'>): ReadonlyMap<Address, VmEvidence> {
  const entries = stack.vms.flatMap((vm): [Address, VmEvidence][] => {
    const [remembered, found] = [state.vms[vm.address], observed.vms.get(vm.address)];
    if (!remembered || found?.kind !== 'present') return [];
    const { vmid, uuid } = found.vm;
    const input = {
      stackName: stack.name,
      vm,
      recorded: remembered,
      observed,
      secrets: secrets.get(vm.address) ?? new Map(),
      mayRestart: false,
      asIncomplete: false,
      readyMs: stack.rollout.timeouts.readyMs,
    };
    const fields = [
      ...comparedFields(wanted(input, { vmid, uuid }, effectiveValues(found.vm)), found.vm, remembered.lastApplied),
      ...comparedHa(comparableHa(vm.fields.ha, observed), foundHa(observed, vmid)),
    ];
    return [[vm.address, { uuid: { wanted: remembered.uuid ?? null, found: uuid ?? null }, fields }]];
  });
  return new Map(entries);
}
