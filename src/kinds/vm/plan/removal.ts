/** Removes machines that left the file; in a destroy all of them, in reverse order of creation. Pure. */

import { type Address, type AddressKind, keeperOf, kindOf, mainAddress } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { removeRemains } from '../../../base/text/node-command.ts';
import { type Change, UNDETAILED } from '../../change.ts';
import type { DestroyContext, KindPlan, PlanContext, ResourcePlan } from '../../kind.ts';
import { recordedMachines, type StackState } from '../../recorded.ts';
import { machinesOf, type ResolvedStack, waitOrder } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { volumesOf } from '../config/disks.ts';
import { notOurs, sameVm } from '../identity.ts';
import type { ObservedVm } from '../observe/observed-vms.ts';
import { effectiveValues } from '../observed.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';
import { vmStep } from '../steps.ts';
import { forkedVms, forkProblem } from './checks/forks.ts';
import { lostProblem, lostVms } from './checks/lost-vms.ts';
import { formerAddress } from './moves.ts';
import { detachedProblem, type Keeping, keptProblem, keptVolumes } from './replace/kept-disks.ts';

/** Recorded machines that are no longer in the file; deleted only with --allow-delete. */
export function removedMachines(
  { stack, state, observed, options, findings, isSelected }: PlanContext,
  prefixes: readonly AddressKind[],
  reasons: Readonly<Record<'forget' | 'delete' | 'keep', string>>,
): ResourcePlan[] {
  const inFile = new Set<string>(machinesOf(stack).map(({ address }) => address));
  return (
    recordedOf(state, prefixes)
      // The old one of a VM that is in the file goes with the steps of that VM.
      .filter(([address]) => !inFile.has(mainAddress(address)) && isChosen(address, isSelected))
      .map(([address, recorded]): ResourcePlan => {
        const observedVm = observed.vms.get(address);
        const kind = observedVm?.kind === 'gone' ? 'forget' : options.allowDelete ? 'delete' : 'keep';
        const { destroyData = [] } = options;
        const keeping = { address, vm: undefined, recorded, observedVm, destroyData };
        const problem = kind === 'delete' ? dataProblem(keeping, 'apply') : undefined;
        if (problem) findings.problems.push(problem);
        return {
          change: {
            address,
            kind,
            // An earlier version of a template was renamed.
            name: (observedVm?.kind === 'present' ? observedVm.vm.current.get('name') : undefined) ?? recorded.name,
            node: recorded.node,
            vmid: recorded.vmid,
            reason: reasons[kind],
            ...UNDETAILED,
            ...(kind === 'delete' && destroyed(observedVm)),
          },
          steps: kind === 'keep' ? [] : [destroyStep(address, 'shutdown')],
          isRemoval: true,
        };
      })
  );
}

/** Holders of kept disks whose VM is no longer in the file. */
export function removedHolders(context: PlanContext): ResourcePlan[] {
  const { stack, state, options, findings, isSelected } = context;
  const inFile = new Set<string>(stack.vms.map(({ address }) => address));
  return recordedOf(state, ['kept'])
    .filter(([address]) => !inFile.has(keeperOf(address)) && (isSelected(address) || isSelected(keeperOf(address))))
    .map(([address]) => {
      const { destroyData = [], allowDelete } = options;
      const removal = holderRemoval(address, context, { destroyData, by: 'apply' });
      if (!allowDelete) return { change: kept(removal.change), steps: [], isRemoval: true };
      if (removal.problem) findings.problems.push(removal.problem);
      return { change: removal.change, steps: removal.steps, isRemoval: true };
    });
}

/** Nothing of it is destroyed. */
function kept({ destroys = [], ...change }: Change): Change {
  const notes = destroys.map(({ slot, volume }) => `holds ${slot} (${volume})`);
  return { ...change, kind: 'keep', notes };
}

interface HolderRemoval {
  readonly change: Change;
  readonly steps: readonly Step[];
  readonly problem: Diagnostic | undefined;
}

function holderRemoval(
  address: Address,
  { state, observed }: Pick<PlanContext, 'state' | 'observed'>,
  { destroyData, by }: { readonly destroyData: readonly string[]; readonly by: 'apply' | 'destroy' },
): HolderRemoval {
  const recorded = state.vms[address];
  const { name = '', vmid, node = '', holds } = recorded ?? {};
  const observedVm = observed.vms.get(address);
  const vm = keeperOf(address);
  const slots = Object.keys(holds?.volumes ?? {});
  // The name of the VM whose data it is, which the user has to give.
  const keeping = { address, vm: undefined, observedVm, destroyData, carried: slots };
  const owner = recorded && { ...recorded, name: holds?.name ?? '' };
  const volumes = keptVolumes({ ...keeping, recorded: owner });
  const change: Change = {
    address,
    kind: observedVm?.kind === 'gone' ? 'forget' : 'delete',
    name,
    node,
    vmid,
    reason: `It holds the kept disks of ${vm}, whose replacement was not finished.`,
    ...UNDETAILED,
    ...destroyed(observedVm),
  };
  return {
    change,
    steps: [vmStep(address, 'vm.unhold', change.destroys ? { destroysData: true } : {})],
    problem: keptProblem({ ...keeping, recorded: owner }, volumes, by),
  };
}

function dataProblem(keeping: Keeping, by: 'destroy' | 'apply') {
  return keptProblem(keeping, keptVolumes(keeping), by) ?? detachedProblem(keeping, by);
}

export function destroyMachines(context: DestroyContext, prefixes: readonly AddressKind[]): KindPlan {
  const { stack, state, observed, isSelected } = context;
  const removed = orderOfRemoval(stack, state, prefixes).filter(([address]) => isChosen(address, isSelected));
  const desired = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const problems = removed.flatMap(([address, recorded]) => {
    const observedVm = observed.vms.get(address);
    const keeping = { address, vm: desired.get(address), recorded, observedVm, destroyData: context.destroyData };
    const problem = refusal(address, recorded, observedVm);
    return problem ?? dataProblem(keeping, 'destroy') ?? [];
  });
  // A VM that another copy of the stack created is not destroyed; one that it took over from this state stops the
  // destroy.
  const ids = new Set(removed.map(([, { vmid }]) => vmid));
  const taken = prefixes.includes('vm') ? forkedVms(context).filter(({ vm }) => ids.has(vm.vmid)) : [];
  const holders = prefixes.includes('vm')
    ? recordedOf(state, ['kept'])
        .filter(([address]) => isSelected(keeperOf(address)))
        .map(([address]) => holderRemoval(address, context, { destroyData: context.destroyData, by: 'destroy' }))
    : [];
  const resources = inReverse(
    stack,
    removed.map(([address, recorded]) => ({
      change: changeOf(address, recorded, observed.vms.get(address)),
      steps: stepsOf(address, desired.get(address), context),
    })),
  );
  // A VM that is not recorded is not destroyed; a warning says that it exists.
  const unknown = stack.vms.filter(
    ({ address }) => prefixes.includes('vm') && !state.vms[address] && isSelected(address),
  );
  const warnings = lostProblem(lostVms(stack.name, unknown, observed)).map(
    (problem): Diagnostic => ({ ...problem, severity: 'warning' }),
  );
  return {
    resources: [...resources, ...holders],
    problems: [...problems, ...holders.flatMap(({ problem }) => problem ?? []), ...forkProblem(taken, context)],
    warnings,
  };
}

/** The name of a VM also means the VM that it replaces. */
function isChosen(address: Address, isSelected: (address: Address) => boolean): boolean {
  return isSelected(address) || isSelected(mainAddress(address));
}

function recordedOf(state: StackState, prefixes: readonly AddressKind[]): [Address, VmRecord][] {
  return recordedMachines(state).filter(([address]) => prefixes.some((prefix) => prefix === kindOf(address)));
}

/** Machines that are no longer in the file go first; a VM that others name in `after` goes after them. */
function orderOfRemoval(
  stack: ResolvedStack,
  state: StackState,
  prefixes: readonly AddressKind[],
): [Address, VmRecord][] {
  const place = new Map(waitOrder(stack.vms).map((address, index) => [address, index]));
  const placeOf = ([address]: [Address, VmRecord]) => place.get(address) ?? Number.POSITIVE_INFINITY;
  return recordedOf(state, prefixes)
    .reverse()
    .sort((a, b) => compare(placeOf(b), placeOf(a)));
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

function changeOf(address: Address, { name, node, vmid }: VmRecord, observedVm: ObservedVm | undefined): Change {
  const isGone = observedVm?.kind === 'gone';
  const reason = isGone ? 'It no longer exists. Proxwright removes it from the state.' : 'The stack is destroyed.';
  return {
    address,
    kind: isGone ? 'forget' : 'delete',
    name,
    node,
    vmid,
    reason,
    ...UNDETAILED,
    ...destroyed(observedVm),
  };
}

/** What goes with a VM. */
export function destroyed(
  observedVm: ObservedVm | undefined,
  kept: ReadonlySet<string> = new Set(),
): Pick<Change, 'destroys'> {
  const all = observedVm?.kind === 'present' ? volumesOf(effectiveValues(observedVm.vm)) : [];
  const destroys = all.filter(({ slot }) => !kept.has(slot));
  return destroys.length > 0 ? { destroys } : {};
}

function stepsOf(
  address: Address,
  desired: ResolvedVm | undefined,
  { recordedState, running }: DestroyContext,
): Step[] {
  const destroy = destroyStep(address, running);
  const from = formerAddress(desired, recordedState);
  if (!from) return [destroy];
  const takeFrom = vmStep(address, 'vm.take-from', { from });
  return [takeFrom, { ...destroy, needs: [takeFrom.id] }];
}

function destroyStep(address: Address, stop: DestroyContext['running']): Step {
  const isFormer = kindOf(address) === 'retired';
  return { ...vmStep(address, 'vm.destroy', { stop, ...(isFormer && { mayStayInUse: true }) }), endsOutage: true };
}

/** A VM that others name in `after` is destroyed once they are gone. */
function inReverse(
  stack: ResolvedStack,
  plans: readonly (ResourcePlan & { readonly change: Change })[],
): ResourcePlan[] {
  const lastSteps = new Map(plans.map(({ change, steps }) => [change.address, steps.at(-1)?.id]));
  const dependents = new Map<Address, Address[]>();
  for (const { address, after } of stack.vms) {
    for (const other of after) dependents.set(other, [...(dependents.get(other) ?? []), address]);
  }
  return plans.map(({ change, steps: [first, ...rest] }) => {
    const needs = (dependents.get(change.address) ?? []).flatMap((address) => lastSteps.get(address) ?? []);
    return { change, steps: first ? [{ ...first, needs: [...first.needs, ...needs] }, ...rest] : [] };
  });
}

function refusal(address: Address, recorded: VmRecord, observedVm: ObservedVm | undefined): Diagnostic | undefined {
  if (recorded.uuid === undefined) {
    return new ProxwrightError({
      code: 'GUEST_LOCKED',
      where: { address },
      detail: `VM ${recorded.vmid} on ${recorded.node} was being created by a run that ended before the VM could be read, so Proxwright cannot tell whether it is ours.`,
      hint: `Look at it on ${recorded.node}. If no task is running for it: ${removeRemains(recorded.vmid)}`,
    }).diagnostic;
  }
  if (observedVm?.kind !== 'present') return undefined;
  const { vm } = observedVm;
  if (!sameVm(recorded, vm)) return notOurs({ address, recorded, observed: vm }).diagnostic;
  if (vm.current.get('protection') !== '1') return undefined;
  return new ProxwrightError({
    code: 'PROTECTED',
    where: { address },
    detail: `VM ${vm.vmid} is protected against removal.`,
    hint: advice`Set ${setting('protection', false)} in the file, apply it, then destroy the stack.`,
  }).diagnostic;
}
