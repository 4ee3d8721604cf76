/**
 * Replaces a VM by creating the new one first (`update.order: create_first`): the requirements, the reasons to refuse,
 * and the steps. The old VM is recorded under a separate address and destroyed once the new one is ready. Pure.
 */
import { type Address, replacedAddress } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import type { Change } from '../../../change.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { PlanContext } from '../../../kind.ts';
import { isCreationUnfinished } from '../../../recorded.ts';
import { isProtected } from '../../diff/effects.ts';
import { notOurs, sameVm } from '../../identity.ts';
import type { ObservedVm } from '../../observe/observed-vms.ts';
import type { VmRecord } from '../../record.ts';
import type { ResolvedVm } from '../../stack.ts';
import { vmStep } from '../../steps.ts';
import { spareOf, staticAddressesOf, withAddresses } from '../choices/given-addresses.ts';
import { chained } from '../creation.ts';
import type { VmPlan } from '../desired-vm.ts';
import { destroyed } from '../removal.ts';
import { updateOf } from '../roll/roll.ts';

/** The old VM of an earlier run that made, or began to make, the new one. */
export interface SetAside {
  readonly address: Address;
  readonly recorded: VmRecord;
  readonly found: ObservedVm | undefined;
}

export function setAsideOf(
  vm: Address,
  { state, observed }: Pick<PlanContext, 'state' | 'observed'>,
): SetAside | undefined {
  const address = replacedAddress(vm);
  const recorded = state.vms[address];
  return recorded && { address, recorded, found: observed.vms.get(address) };
}

/** Whether a replacement creates the new VM first. A VM that was never finished serves nothing, so it can go first. */
export function createsFirst(
  vm: ResolvedVm,
  recorded: VmRecord,
  observedVm: ObservedVm | undefined,
  { stack }: Pick<PlanContext, 'stack'>,
): boolean {
  const isUsable = observedVm?.kind === 'present' && !isCreationUnfinished(recorded);
  return updateOf(vm, stack.rollout).order === 'create_first' && isUsable;
}

/** What the plan has assigned so far. */
export class Spares {
  readonly addresses = new Set<string>();
  /** The new VMs, with their addresses. */
  readonly besides = new Map<Address, ResolvedVm>();
}

/** The VM with addresses that no other VM has, or problems if something rules out a second VM. */
export function besideOld(
  vm: ResolvedVm,
  { stack, spares }: Pick<PlanContext, 'stack'> & { readonly spares: Spares },
  problems: Diagnostic[],
): ResolvedVm {
  const { fields } = vm;
  const refuse = (path: string, reason: string) => problems.push(refusal(vm, path, reason));
  if (fields.vmid !== undefined) refuse('vmid', `"vmid" is fixed, and the old VM has it`);
  for (const [slot, disk] of Object.entries(fields.disks ?? {})) {
    if (disk.keep) refuse(`disks.${slot}.keep`, `${slot} is kept, and both VMs would need it at once`);
  }
  for (const [slot, nic] of Object.entries(fields.nics ?? {})) {
    if (nic.mac !== undefined)
      refuse(`nics.${slot}.mac`, `${slot} has a fixed MAC address, and both VMs would have it`);
  }
  for (const slot of Object.keys(fields.pci ?? {}))
    refuse(`pci.${slot}`, `${slot} is a device of the host, and one VM can use it at a time`);
  const given: Record<string, string> = {};
  for (const [path, address] of staticAddressesOf(vm)) {
    const spare = spareOf(vm, path, stack.vms, spares.addresses);
    if (spare !== undefined) given[path] = spare;
    else if (vm.addressRanges?.[path]) refuse(path, `no address of "addresses" is left for the new VM`);
    else refuse(path, `the address ${address} is fixed, and both VMs would have it`);
  }
  const beside = withAddresses(vm, given);
  spares.besides.set(vm.address, beside);
  return beside;
}

function refusal(vm: ResolvedVm, path: string, reason: string): Diagnostic {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm, path),
    detail: `${vm.address} is to be replaced by a VM that is created before the old one is destroyed, but ${reason}. Nothing was changed.`,
    hint: advice`Give the group ranges with spare IDs and addresses, or destroy each old member first: ${setting('update.order', 'destroy_first')}. With few spare addresses, replace some members at a time: ${command('apply', '--only', vm.address)}.`,
  }).diagnostic;
}

/** Why the old VM cannot be destroyed afterwards. */
export function oldProblem(vm: ResolvedVm, { address, recorded, found }: SetAside): Diagnostic | undefined {
  if (found?.kind === 'hidden') {
    return new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      where: whereOf(vm),
      detail: `VM ${recorded.vmid}, which ${vm.address} replaces, cannot be read: the token needs ${found.needs}.`,
      hint: 'Grant it to the user and to its token, then run the plan again.',
    }).diagnostic;
  }
  if (found?.kind !== 'present') return undefined;
  if (!sameVm(recorded, found.vm))
    return notOurs({ address, recorded, observed: found.vm, where: whereOf(vm) }).diagnostic;
  if (!isProtected(found.vm.current)) return undefined;
  return new ProxwrightError({
    code: 'PROTECTED',
    where: whereOf(vm, 'protection'),
    detail: `VM ${found.vm.vmid} is protected against removal, and a replacement removes it.`,
    hint: advice`Set ${setting('protection', false)} in the file, apply it, then replace the VM.`,
  }).diagnostic;
}

/** The plan of the new VM, followed by the destruction of the old one. `isNew`: this plan sets the old one aside. */
export function withOld(vm: ResolvedVm, made: VmPlan, old: SetAside, isNew: boolean, reason: string): VmPlan {
  const { vmid } = old.recorded;
  const steps = chained([
    ...(isNew ? [vmStep(vm.address, 'vm.set-aside', {})] : []),
    ...made.steps,
    vmStep(vm.address, 'vm.remove-replaced', { vmid }),
  ]);
  const { change } = made;
  const next = change.vmid === undefined ? 'a new ID' : `the ID ${change.vmid}`;
  const isMade = !isNew && change.kind !== 'create';
  const addresses = Object.values(vm.given ?? {});
  const notes = [
    ...(change.notes ?? []),
    ...(isMade
      ? []
      : [`the new VM is created first, with ${next}${addresses.length > 0 ? ` and ${addresses.join(', ')}` : ''}`]),
    `the old VM ${vmid} is destroyed once the new one is ready; until then two VMs are called ${change.name}`,
  ];
  const shown: Change = {
    ...change,
    kind: isNew ? 'replace' : change.kind === 'none' ? 'update' : change.kind,
    vmid: isNew ? vmid : change.vmid,
    reason: isNew ? reason : `An earlier run did not finish replacing VM ${vmid} with it.`,
    ...destroyed(old.found),
    notes,
  };
  return { change: shown, steps };
}
