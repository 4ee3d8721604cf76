/** The facts of an incident report: the timeline of the run, and what it left behind, VM by VM. Pure. */

import { printDuration } from '../../base/values/units.ts';
import type { ChangeKind } from '../../kinds/change.ts';
import { type AddressRecord, isCreationUnfinished } from '../../kinds/recorded.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import { type Moment, momentsOf } from '../record/run-moments.ts';
import type { RunRecord } from '../record/run-record.ts';
import type { Differing } from './record.ts';

interface Stand {
  readonly address: string;
  readonly name: string;
  readonly vmid: string;
  readonly node: string;
  readonly words: string;
}

interface StandingInput {
  readonly planned: readonly Differing[];
  readonly outcomes: ReadonlyMap<string, ResourceOutcome>;
  readonly vms: Readonly<Record<string, AddressRecord>>;
  readonly remaining: readonly Differing[];
}

/** VMs of the plan first, in its order; then the others. */
export function standings({ planned, outcomes, vms, remaining }: StandingInput): Stand[] {
  const worked = planned.map(({ address }) => address);
  const addresses = [...new Set([...worked, ...outcomes.keys(), ...Object.keys(vms)])];
  return addresses.map((address) => {
    const [plan, vm] = [planned.find((each) => each.address === address), vms[address]];
    const id = vm?.vmid || plan?.vmid;
    const differs = remaining.some((each) => each.address === address);
    return {
      address,
      name: vm?.name || plan?.name || '',
      vmid: id ? String(id) : '',
      node: vm?.node || plan?.node || '',
      words: `${standingOf(outcomes.get(address), vm, plan)}${differs ? '; differs from the file' : ''}`,
    };
  });
}

const REMOVING: ReadonlySet<ChangeKind> = new Set(['delete', 'forget']);

function standingOf(
  outcome: ResourceOutcome | undefined,
  vm: AddressRecord | undefined,
  plan: Differing | undefined,
): string {
  switch (outcome) {
    case undefined:
      return plan ? 'not started' : 'not part of this run';
    case 'done':
      return vm || !REMOVING.has(plan?.kind ?? 'none') ? 'done' : 'removed';
    case 'notReady':
      return 'created and started, but not ready in time; kept';
    case 'skipped':
      return vm ? 'not started; unchanged' : 'not started';
    case 'failed':
    case 'canceled':
      return leftover(vm);
  }
}

function leftover(vm: AddressRecord | undefined): string {
  if (!vm) return 'failed; nothing is left of it';
  if (vm.phase === 'creating') return 'failed while it was created; the next apply finds out whether it exists';
  return isCreationUnfinished(vm)
    ? 'partly created: it exists and belongs to the stack; the next apply completes it'
    : 'exists; the change failed, and part of it may be done';
}

/** The end matters most, so the middle of a long run is left out. */
const MOST_MOMENTS = 200;
const FIRST_MOMENTS = 50;

export function timeline(run: RunRecord, noticedAt: string): Moment[] {
  const start = Date.parse(run.startedAt ?? noticedAt);
  const moments = momentsOf(run).map((moment) => ({
    ...moment,
    at: `+${printDuration(Date.parse(moment.at) - start)}`,
  }));
  const left = moments.length - MOST_MOMENTS;
  if (left <= 0) return moments;
  const gap = { at: '…', address: '', what: `${left} lines left out` };
  return [...moments.slice(0, FIRST_MOMENTS), gap, ...moments.slice(FIRST_MOMENTS + left)];
}
