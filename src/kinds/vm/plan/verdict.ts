/** The plan of one VM: decides whether it is created or changed, and refuses a VM that is not ours. Pure. */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Findings } from '../../kind.ts';
import { notOurs, sameVm } from '../identity.ts';
import type { ObservedVm } from '../observe/observed-vms.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';
import { planCreation } from './creation.ts';
import type { VmPlan, VmPlanInput } from './desired-vm.ts';
import { planExisting } from './existing.ts';

/** Undefined when the VM cannot be planned; `findings` then has the problem. */
export function planVm(input: VmPlanInput, findings: Findings): VmPlan | undefined {
  const { vm, recorded, observed } = input;
  const observedVm = recorded && observed.vms.get(vm.address);
  if (!recorded || !observedVm || observedVm.kind === 'gone') {
    return planCreation(input, findings, observedVm && whyAgain(input));
  }
  const problem = identityProblem(vm, recorded, observedVm);
  if (problem || observedVm.kind !== 'present') {
    if (problem) findings.problems.push(problem);
    return undefined;
  }
  return planExisting(input, recorded, observedVm.vm, findings);
}

/** Why a VM is created that the state has. */
function whyAgain({ takenOverMacs }: VmPlanInput): string {
  return takenOverMacs
    ? 'An earlier run began to replace it and did not finish; it is created again.'
    : 'It was deleted outside Proxwright and is created again.';
}

/** Another VM may now have the recorded id, so the id alone does not identify a VM. */
export function identityProblem(vm: ResolvedVm, recorded: VmRecord, observedVm: ObservedVm): Diagnostic | undefined {
  if (observedVm.kind === 'hidden') {
    return new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      where: whereOf(vm),
      detail: `VM ${recorded.vmid} cannot be read: the token needs ${observedVm.needs}.`,
      hint: 'Grant it to the user and to its token, then run the plan again.',
    }).diagnostic;
  }
  if (observedVm.kind !== 'present' || sameVm(recorded, observedVm.vm)) return undefined;
  return notOurs({ address: vm.address, recorded, observed: observedVm.vm, where: whereOf(vm) }).diagnostic;
}
