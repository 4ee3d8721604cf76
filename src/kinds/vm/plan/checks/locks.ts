/** What a plan says about locked VMs: a lock that no task holds, and one that the steps of the plan will meet. Pure. */
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { counted } from '../../../../base/values/units.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { PlanContext, ResourcePlan } from '../../../kind.ts';
import type { Observed } from '../../../observed.ts';
import { vmName } from '../../identity.ts';
import { type HeldLock, halfMadeError, isStuck, staleLock, taskName } from '../../lock.ts';
import { isHalfMade } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { LostVm } from './lost-vms.ts';

/** A VM that Proxmox has not finished creating and that occupies the id of one that the plan creates. */
export interface HalfMadeVm {
  readonly desired: ResolvedVm;
  readonly held: HeldLock;
}

/** What an interrupted creation left: a VM with the recorded id, or one whose notes name the same address. */
export function halfMadeVms(
  toMake: readonly ResolvedVm[],
  claiming: readonly LostVm[],
  { state, observed }: PlanContext,
): HalfMadeVm[] {
  const claimed = claiming.flatMap(({ desired, vmid }) => {
    const held = observed.locks.get(vmid);
    return held && isHalfMade(held) ? [{ desired, held }] : [];
  });
  const begun = toMake.flatMap((desired) => {
    const recorded = state.vms[desired.address];
    const held = recorded?.phase === 'creating' ? observed.locks.get(recorded.vmid) : undefined;
    return isStuck(held) ? [{ desired, held }] : [];
  });
  return [...claimed, ...begun];
}

export function halfMadeProblem({ desired, held }: HalfMadeVm): Diagnostic {
  return halfMadeError(held, whereOf(desired)).diagnostic;
}

/** For VMs that the plan changes. */
export function lockWarnings(
  resources: readonly ResourcePlan[],
  vms: readonly ResolvedVm[],
  observed: Observed,
): Diagnostic[] {
  return resources.flatMap(({ change, steps }) => {
    const vm = vms.find(({ address }) => address === change?.address);
    const found = vm && observed.vms.get(vm.address);
    const held = found?.kind === 'present' ? observed.locks.get(found.vm.vmid) : undefined;
    return vm && held && steps.length > 0 ? [lockWarning(held, vm, steps.length)] : [];
  });
}

function lockWarning(held: HeldLock, vm: ResolvedVm, steps: number): Diagnostic {
  const { holder, lock } = held;
  if (holder.kind === 'none' || lock === 'suspended') {
    const found = holder.kind === 'task' ? { kind: 'none' as const } : holder;
    return { ...staleLock({ vm: held, holder: found, where: whereOf(vm) }).diagnostic, severity: 'warning' };
  }
  const by =
    holder.kind === 'task'
      ? `by ${taskName(holder.task)}`
      : `and the token may not see by which task (Sys.Audit on /nodes/${held.node})`;
  return {
    ...new ProxwrightError({
      code: 'GUEST_LOCKED',
      where: whereOf(vm),
      detail: `${vmName(held)} is locked right now (${lock}), ${by}. Apply waits for it before ${counted(steps, 'step')}.`,
    }).diagnostic,
    severity: 'warning',
  };
}
