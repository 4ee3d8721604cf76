/**
 * VMs that carry an ownership line of this stack while its state does not know them: the state was lost, or is older than
 * they are. A plan that made them again would make duplicates, so it is refused with the way back. Pure.
 *
 * Not every guest of a cluster is read for that: only those which bear a name, or stand under an id, that a VM which is
 * about to be made wants for itself. Of these a VM counts whose line names an address that would be made, or whose id
 * is the very one the file gives.
 */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { counted, inNumber } from '../../../base/units.ts';
import type { GuestRow, Observed } from '../../observed.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedVm } from '../../stack.ts';
import type { VmObserved } from '../observed.ts';
import { findOwnership, ownershipCounts } from '../ownership.ts';
import { whereOf } from '../where.ts';

/** Guests that could be VMs the file means, by what a list of guests tells; those that the state knows are not asked. */
export function possibleClaimants(
  toMake: readonly ResolvedVm[],
  state: StackState,
  guests: ReadonlyMap<number, GuestRow>,
): GuestRow[] {
  const names = new Set(toMake.map(({ fields }) => fields.name));
  const ids = new Set(toMake.flatMap(({ fields, vmids = [] }) => (fields.vmid === undefined ? vmids : [fields.vmid])));
  const known = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  return [...guests.values()].filter(
    ({ vmid, name, type, template }) =>
      type === 'qemu' && !template && !known.has(vmid) && (ids.has(vmid) || (name !== undefined && names.has(name))),
  );
}

/** A VM of ours that nobody remembers. */
export interface LostVm {
  readonly address: string;
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  /** The VM of the file whose place it takes. */
  readonly wantedBy: ResolvedVm;
}

/** `wanted` are the VMs that are about to be made. */
export function lostVms(stackName: string, wanted: readonly ResolvedVm[], observed: Observed): LostVm[] {
  return [...observed.claimants.values()].flatMap((vm): LostVm[] => {
    const address = addressIn(stackName, vm);
    if (address === undefined) return [];
    const wantedBy =
      wanted.find((each) => each.address === address) ?? wanted.find(({ fields }) => fields.vmid === vm.vmid);
    const name = vm.current.get('name') ?? '(no name)';
    return wantedBy ? [{ address, vmid: vm.vmid, name, node: vm.node, wantedBy }] : [];
  });
}

/** Its line names the address that wants its place, and it has the id that the file gives, if any. */
export function isVeryOne({ address, vmid, wantedBy }: LostVm): boolean {
  return address === wantedBy.address && (wantedBy.fields.vmid ?? vmid) === vmid;
}

/** Undefined where the line is not ours, or was copied from another VM. */
function addressIn(stackName: string, vm: VmObserved): string | undefined {
  const owner = findOwnership(vm.current.get('description') ?? '');
  return owner?.stack === stackName && ownershipCounts(owner, vm) ? owner.address : undefined;
}

const SHOWN = 5;

export function lostProblem(lost: readonly LostVm[]): Diagnostic[] {
  const [first] = lost;
  if (!first) return [];
  const listed = lost
    .slice(0, SHOWN)
    .map(({ address, vmid, name, node }) => `${address} is VM ${vmid} (${name}) on ${node}`);
  const rest = lost.length > SHOWN ? `, and ${lost.length - SHOWN} more` : '';
  return [
    new ProxwrightError({
      code: 'STATE_LOST',
      where: whereOf(first.wantedBy),
      detail: `By the ownership line in ${inNumber(lost.length, 'its', 'their')} notes, ${counted(lost.length, 'VM')} of the cluster ${inNumber(lost.length, 'belongs', 'belong')} to this stack, but its state does not know ${inNumber(lost.length, 'it', 'them')}: ${listed.join(', ')}${rest}. Nothing was touched, and nothing is made a second time.`,
      hint: advice`Take what is there into the state: ${command('state recover')}. If a VM is no longer meant to be yours, delete the line that begins with "proxwright:" from its notes.`,
    }).diagnostic,
  ];
}
