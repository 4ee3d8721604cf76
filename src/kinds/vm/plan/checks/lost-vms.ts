/**
 * VMs with an ownership line of this stack that its state does not know: the state was lost, or is older than they are.
 * Creating them again would make duplicates, so the plan is refused, with the command that recovers them. Pure.
 *
 * Not every guest of the cluster is read for this, only those with the name or id of a VM that the plan creates. Of these,
 * a VM counts when its line names an address that the plan creates, or when its id is the one set in the file.
 */

import { keptAddress } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import { counted, inNumber } from '../../../../base/values/units.ts';
import type { GuestRow } from '../../../cluster.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Observed } from '../../../observed.ts';
import type { StackState } from '../../../recorded.ts';
import { holderName } from '../../holder.ts';
import type { VmObserved } from '../../observed.ts';
import { ownerOf } from '../../ownership.ts';
import type { ResolvedVm } from '../../stack.ts';

/** Guests that may be such VMs, judged by the list of guests alone. */
export function possibleClaimants(
  toMake: readonly ResolvedVm[],
  vms: readonly ResolvedVm[],
  state: StackState,
  guests: ReadonlyMap<number, GuestRow>,
): GuestRow[] {
  // An existing VM may have a namesake that another copy of the stack created.
  const own = [...toMake, ...vms].map(({ fields }) => fields.name);
  // An interrupted replacement may have left the disks of a VM with their holder.
  const holders = toMake.filter(keepsDisks).map(({ fields }) => holderName(fields.name));
  const names = new Set([...own, ...holders]);
  const fixed = toMake.flatMap(({ fields }) => fields.vmid ?? []);
  // The members of a group share one list.
  const lists = new Set(toMake.flatMap(({ fields, vmids }) => (fields.vmid === undefined && vmids ? [vmids] : [])));
  const ids = new Set([fixed, ...lists].flat());
  const known = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  return [...guests.values()].filter(
    ({ vmid, name, type, template }) =>
      type === 'qemu' && !template && !known.has(vmid) && (ids.has(vmid) || (name !== undefined && names.has(name))),
  );
}

const keepsDisks = ({ fields: { disks = {} } }: ResolvedVm) => Object.values(disks).some(({ keep }) => keep);

/** A VM of this stack that is not in the state. */
export interface LostVm {
  readonly address: string;
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  /** The VM in the file that would be created in its place. */
  readonly desired: ResolvedVm;
}

/** `toMake`: the VMs that the plan creates. */
export function lostVms(stackName: string, toMake: readonly ResolvedVm[], observed: Observed): LostVm[] {
  return [...observed.claimants.values()].flatMap((vm): LostVm[] => {
    const address = addressIn(stackName, vm);
    if (address === undefined) return [];
    const desired =
      toMake.find((each) => each.address === address || keptAddress(each.address) === address) ??
      toMake.find(({ fields }) => fields.vmid === vm.vmid);
    const name = vm.current.get('name') ?? '(no name)';
    return desired ? [{ address, vmid: vm.vmid, name, node: vm.node, desired }] : [];
  });
}

/** Its line names the address of the desired VM, and its id is the one set in the file, if any. */
export function matchesExactly({ address, vmid, desired }: LostVm): boolean {
  return address === desired.address && (desired.fields.vmid ?? vmid) === vmid;
}

/** Undefined when the line is not ours, or was copied from another VM. */
function addressIn(stackName: string, vm: VmObserved): string | undefined {
  const owner = ownerOf(vm);
  return owner?.stack === stackName ? owner.address : undefined;
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
      where: whereOf(first.desired),
      detail: `By the ownership line in ${inNumber(lost.length, 'its', 'their')} notes, ${counted(lost.length, 'VM')} of the cluster ${inNumber(lost.length, 'belongs', 'belong')} to this stack, but its state does not know ${inNumber(lost.length, 'it', 'them')}: ${listed.join(', ')}${rest}. Nothing was changed or created.`,
      hint: advice`Add ${inNumber(lost.length, 'it', 'them')} to the state: ${command('state recover')}. If a VM no longer belongs to this stack, delete the line that begins with "proxwright:" from its notes. If another machine or directory manages this stack with its own state, work there, or give this stack another name: ${setting('stack', 'NAME')}.`,
    }).diagnostic,
  ];
}
