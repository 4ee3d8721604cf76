/** Evidence that VMs match the file. Pure. */
import type { Address } from '../../base/address.ts';
import type { EvidenceContext } from '../kind.ts';
import type { Evidence } from '../shown.ts';
import { comparedFields } from './diff/diff.ts';
import { comparedHa } from './ha.ts';
import { comparableHa, observedHa } from './observe/ha.ts';
import { desiredOfExisting } from './plan/desired-vm.ts';

/** Compares each VM that exists and can be read: its identity, and every field of the file. */
export function evidenceOfVms(input: EvidenceContext): ReadonlyMap<Address, Evidence> {
  const { stack, state, observed } = input;
  const entries = stack.vms.flatMap((vm): [Address, Evidence][] => {
    const [recorded, found] = [state.vms[vm.address], observed.vms.get(vm.address)];
    if (!recorded || found?.kind !== 'present') return [];
    const { vmid, uuid } = found.vm;
    const desired = desiredOfExisting(input, vm, recorded, found.vm);
    const fields = [
      ...comparedFields(desired, found.vm, recorded.lastApplied),
      ...comparedHa(comparableHa(vm.fields.ha, observed), observedHa(observed, vmid)),
    ].map(({ desired: wanted, observed: found, ...rest }) => ({ ...rest, wanted, found }));
    return [[vm.address, { uuid: { wanted: recorded.uuid ?? null, found: uuid ?? null }, fields }]];
  });
  return new Map(entries);
}
