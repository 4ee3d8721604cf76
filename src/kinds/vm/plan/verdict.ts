/** The verdict on one VM: what it is now, what it should be, and the steps between. Pure. */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { ObservedVm } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';
import { notOurs, sameVm } from '../identity.ts';
import type { VmRecord } from '../record.ts';
import { whereOf } from '../where.ts';
import type { Findings } from './checks.ts';
import { planCreation } from './creation.ts';
import type { VmPlan, VmPlanInput } from './desired-vm.ts';

export type { VmPlan } from './desired-vm.ts';

import { planExisting } from './existing.ts';

/** Undefined where something is wrong; what, is in `findings`. */
export function planVm(input: VmPlanInput, findings: Findings): VmPlan | undefined {
  const { vm, recorded, observed } = input;
  const found = recorded && observed.vms.get(vm.address);
  if (!recorded || !found || found.kind === 'gone') {
    return planCreation(
      input,
      findings,
      found?.kind === 'gone' ? 'It was removed outside; it is made again.' : undefined,
    );
  }
  const problem = identityProblem(vm, recorded, found);
  if (problem || found.kind !== 'present') {
    if (problem) findings.problems.push(problem);
    return undefined;
  }
  return planExisting(input, recorded, found.vm, findings);
}

/** A VM id is not an identity: it can be recycled. */
export function identityProblem(vm: ResolvedVm, remembered: VmRecord, found: ObservedVm): Diagnostic | undefined {
  if (found.kind === 'hidden') {
    return new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      where: whereOf(vm),
      detail: `VM ${remembered.vmid} cannot be read: it needs ${found.needs}.`,
      hint: 'Grant it to the user and to its token, then plan again.',
    }).diagnostic;
  }
  if (found.kind !== 'present' || sameVm(remembered, found.vm)) return undefined;
  return notOurs({ address: vm.address, recorded: remembered, observed: found.vm, where: whereOf(vm) }).diagnostic;
}
