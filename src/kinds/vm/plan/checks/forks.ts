/**
 * Two copies of one stack: two states, on two machines or in two directories, that both manage it. Each of them creates
 * its own VMs and finds its own plan empty. The lineage in a VM's ownership line shows it: a VM of this stack that
 * another state created, in addition to ours or instead of it, stops the plan. Pure.
 */
import type { Address } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import type { DestroyContext } from '../../../kind.ts';
import { vmName } from '../../identity.ts';
import { isHalfMade, type VmObserved } from '../../observed.ts';
import { findOwnership, isForeign, type Ownership, ownershipCounts, shortLineage } from '../../ownership.ts';

type ForkContext = Pick<DestroyContext, 'stack' | 'state' | 'observed' | 'isSelected'>;

/** A VM of this stack that another state made or took over. */
export interface ForkedVm {
  readonly vm: VmObserved;
  readonly line: Ownership;
  /** The VM that this state has under that address; absent if it is the same VM. */
  readonly ours: number | undefined;
}

/** Empty for a state without VMs: only the user can tell a new state from one that replaces a lost one. */
export function forkedVms({ stack, state, observed, isSelected }: ForkContext): ForkedVm[] {
  const present = [...observed.vms].flatMap(([address, found]) =>
    found.kind === 'present' && isSelected(address) ? [found.vm] : [],
  );
  const recorded = Object.entries(state.vms).filter(([, { uuid }]) => uuid !== undefined);
  if (recorded.length === 0) return [];
  return [...present, ...observed.claimants.values()].flatMap((vm): ForkedVm[] => {
    const line = findOwnership(vm.current.get('description') ?? '');
    if (line?.stack !== stack.name || !ownershipCounts(line, vm) || !isForeign(line, state.lineage)) return [];
    if (!isSelected(line.address as Address)) return []; // addresses of another version are not selected
    const ours = state.vms[line.address]?.vmid;
    return [{ vm, line, ours: ours === vm.vmid ? undefined : ours }];
  });
}

const SHOWN = 5;

export function forkProblem(forked: readonly ForkedVm[], { state }: Pick<ForkContext, 'state'>): Diagnostic[] {
  const [first] = forked;
  if (!first) return [];
  const whole = forked.find(({ vm }) => !isHalfMade(vm));
  const takeOver = whole
    ? advice` To take a VM over into this state: ${command('import', whole.line.address, whole.vm.vmid)}.`
    : '';
  const rest = forked.length > SHOWN ? `, and ${forked.length - SHOWN} more` : '';
  const own =
    state.lineage === undefined ? 'This state has none yet' : `That of this state is ${shortLineage(state.lineage)}`;
  return [
    new ProxwrightError({
      code: 'STATE_FORKED',
      where: { address: first.line.address },
      detail:
        `Another copy of this stack, with its own state, manages VMs of it: ${forked.slice(0, SHOWN).map(described).join(', ')}${rest}. ` +
        `The lineage in the ownership line is ${first.line.lineage}. ${own}. Nothing was changed.`,
      hint: advice`Manage the stack from one place: work where the other state is, or copy its directory .proxwright here.${takeOver} If both are meant to exist, give this stack another name: ${setting('stack', 'NAME')}.`,
    }).diagnostic,
  ];
}

function described({ vm, line, ours }: ForkedVm): string {
  const name = vm.current.get('name');
  const here = ours === undefined ? '' : `, while this state has VM ${ours}`;
  return `${line.address} is ${vmName(vm)}${name === undefined ? '' : ` ("${name}")`}${here}`;
}
