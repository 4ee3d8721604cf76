/** The plan that takes a stack away: everything of ours, in the reverse order of its making. Pure. */
import { type Address, covers, kindOf } from '../base/address.ts';
import type { Instant } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import { advice, setting } from '../base/hint.ts';
import { type Change, PLAN_VERSION, UNDETAILED } from '../kinds/change.ts';
import { placeOfVolume } from '../kinds/image/file.ts';
import { fileStep } from '../kinds/image/steps.ts';
import type { Observed, ObservedVm } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { Step } from '../kinds/step.ts';
import { notOurs, sameVm } from '../kinds/vm/identity.ts';
import { lostProblem, lostVms } from '../kinds/vm/plan/lost-vms.ts';
import { movesOf, withMoves } from '../kinds/vm/plan/moves.ts';
import type { VmRecord } from '../kinds/vm/record.ts';
import { vmStep } from '../kinds/vm/steps.ts';
import { fingerprintsOf, type PlanResult } from './plan.ts';
import { waitOrder } from './ready/schedule.ts';

export interface DestroyInput {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  readonly now: Instant;
  readonly only?: readonly string[];
  /** What to do with a VM that runs. */
  readonly running: 'shutdown' | 'stop' | 'refuse';
  /** Also templates and images, which other stacks may use. */
  readonly all?: boolean;
}

export function planDestroy(input: DestroyInput): PlanResult {
  const { stack, observed } = input;
  const state = withMoves(stack, input.state);
  const problems: Diagnostic[] = [];
  const isSelected = (address: Address) =>
    !input.only || input.only.length === 0
      ? input.all === true || kindOf(address) === 'vm'
      : input.only.some((selector) => covers(selector, address));
  const doomed = orderOfRemoval(stack, state).filter(isSelected);
  const changes = doomed.map((address): Change => {
    const remembered = state.vms[address] as VmRecord; // the list is made from the keys of the state
    const found = observed.vms.get(address);
    const problem = refusal(address, remembered, found);
    if (problem) problems.push(problem);
    return {
      address,
      kind: found?.kind === 'gone' ? 'forget' : 'delete',
      name: remembered.name,
      node: remembered.node,
      vmid: remembered.vmid,
      reason: found?.kind === 'gone' ? 'It is gone already; it is forgotten.' : 'The stack is destroyed.',
      ...UNDETAILED,
    };
  });
  if (problems.length > 0) return { ok: false, problems };
  const destroys = doomed.flatMap((address): Step[] => {
    const mayStayInUse = kindOf(address) === 'retired' && { mayStayInUse: true as const };
    const destroy = vmStep(address, 'vm.destroy', { stop: input.running, ...mayStayInUse });
    const move = movesOf(stack, input.state).find(({ to }) => to === address);
    if (!move) return [destroy];
    const takeFrom = vmStep(address, 'vm.take-from', { from: move.from });
    return [takeFrom, { ...destroy, needs: [takeFrom.id] }];
  });
  const machines = withTemplatesLast(inReverse(stack, destroys));
  const files = removalOfFiles(state, isSelected, machines);
  // What the state does not know is not destroyed; that it is there must not go unsaid.
  const unknown = stack.vms.filter(({ address }) => !state.vms[address] && isSelected(address));
  const lost = lostProblem(lostVms(stack.name, unknown, observed));
  return {
    ok: true,
    plan: {
      version: PLAN_VERSION,
      stack: stack.name,
      createdAt: new Date(input.now).toISOString(),
      changes: [...changes, ...files.changes],
      steps: [...machines, ...files.steps],
      warnings: lost.map((problem) => ({ ...problem, severity: 'warning' })),
      fingerprints: fingerprintsOf(input),
    },
  };
}

/** A VM that others were made after goes once they are gone. */
function inReverse(stack: ResolvedStack, steps: readonly Step[]): Step[] {
  const destroys = new Map<Address, string>(
    steps.flatMap((step) => (step.action === 'vm.destroy' ? [[step.address, step.id]] : [])),
  );
  return steps.map((step) => {
    if (step.action !== 'vm.destroy') return step;
    const dependents = stack.vms.filter(({ after }) => after.includes(step.address));
    return { ...step, needs: [...step.needs, ...dependents.flatMap(({ address }) => destroys.get(address) ?? [])] };
  });
}

/** Linked clones rest on their template's disks, so those go first. */
function withTemplatesLast(steps: readonly Step[]): Step[] {
  const vms = steps.filter(({ address }) => kindOf(address) === 'vm').map(({ id }) => id);
  return steps.map((step) => (kindOf(step.address) === 'vm' ? step : { ...step, needs: [...step.needs, ...vms] }));
}

/** Files that we brought; those that were there before are nobody's but their owner's. */
function removalOfFiles(
  state: StackState,
  isSelected: (address: Address) => boolean,
  machines: readonly Step[],
): { readonly changes: readonly Change[]; readonly steps: readonly Step[] } {
  const files = Object.values(state.files).filter(({ address }) => isSelected(address as Address)); // as it was written
  const needs = machines.map(({ id }) => id);
  return {
    changes: files.map(
      (file): Change => ({
        address: file.address as Address,
        kind: file.foreign ? 'forget' : 'delete',
        name: file.volid,
        node: file.node,
        vmid: undefined,
        reason: file.foreign
          ? 'It was there before the stack, and stays; it is forgotten.'
          : 'The stack is destroyed with everything it brought.',
        ...UNDETAILED,
      }),
    ),
    steps: files.map(({ address, node, volid }) =>
      fileStep(address as Address, 'image.remove', { node, ...placeOfVolume(volid) }, { needs }),
    ),
  };
}

/** VMs that others were made after go last; what is no longer in the file goes first. */
function orderOfRemoval(stack: ResolvedStack, state: StackState): Address[] {
  const inFile = waitOrder(stack.vms).filter((address) => state.vms[address]);
  const known = new Set<string>(inFile);
  const strays = Object.keys(state.vms).filter((address) => !known.has(address)) as Address[]; // keys are addresses
  return [...inFile, ...strays].reverse();
}

function refusal(address: Address, remembered: VmRecord, found: ObservedVm | undefined): Diagnostic | undefined {
  if (remembered.uuid === undefined) {
    return new ProxwrightError({
      code: 'GUEST_LOCKED',
      where: { address },
      detail: `VM ${remembered.vmid} on ${remembered.node} was being made by a run that ended before it was seen; whether it is ours cannot be told.`,
      hint: `Look at it on ${remembered.node}. If nothing works on it any more: qm unlock ${remembered.vmid} && qm destroy ${remembered.vmid} --purge`,
    }).diagnostic;
  }
  if (found?.kind !== 'present') return undefined;
  const { vm } = found;
  if (!sameVm(remembered, vm)) return notOurs({ address, recorded: remembered, observed: vm }).diagnostic;
  if (vm.current.get('protection') !== '1') return undefined;
  return new ProxwrightError({
    code: 'PROTECTED',
    where: { address },
    detail: `VM ${vm.vmid} is protected against removal.`,
    hint: advice`Set ${setting('protection', false)} in the file and apply it, then destroy.`,
  }).diagnostic;
}
