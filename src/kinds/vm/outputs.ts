/** The VMs of a stack as its outputs show them, and the evidence that they match the file. Pure. */

import type { Address } from '../../base/address.ts';
import type { EvidenceContext } from '../kind.ts';
import { type StackState, vmRecordOf } from '../recorded.ts';
import type { Evidence, MachineView } from '../shown.ts';
import type { ResolvedStack } from '../stack.ts';
import { comparedFields } from './diff/diff.ts';
import { comparedHa } from './ha.ts';
import { comparableHa, observedHa } from './observe/ha.ts';
import { zonesByNode } from './placement/room.ts';
import { desiredOfExisting } from './plan/desired-vm.ts';
import { managedNic, slotNumber, staticAddresses } from './ready/checks.ts';
import type { VmRecord } from './record.ts';
import type { ResolvedVm } from './stack.ts';

/** In the order of the file, without recorded VMs that left it. */
export function machineViews(stack: ResolvedStack, state: StackState): MachineView[] {
  const zones = zonesByNode(stack);
  return stack.vms.map((vm) => machineView(vm, vmRecordOf(state, vm.address), zones));
}

function machineView(
  { address, group, fields }: ResolvedVm,
  state: VmRecord | undefined,
  zones: ReadonlyMap<string, string>,
): MachineView {
  const mentioned = Object.keys(fields.nics ?? {}).filter((slot) => !fields.nics?.[slot]?.remove);
  const slots = [...new Set([...mentioned, ...Object.keys(state?.macs ?? {})])];
  const nics = slots
    .toSorted((a, b) => slotNumber(a) - slotNumber(b))
    .map((slot) => ({
      slot,
      mac: macOf(slot, fields, state),
      ip: ipOf(slot, fields, state),
      expected: staticAddresses(fields.nics?.[slot])[0] ?? null,
    }));
  const managed = managedNic(fields, slots);
  const node = state?.node || fields.node;
  return {
    address,
    name: fields.name,
    group,
    role: fields.role ?? null,
    isTalos: fields.guest === 'talos',
    user: fields.cloud_init?.user ?? null,
    // Zero: the id is not assigned yet.
    vmid: state?.vmid || null,
    node,
    zone: zones.get(node) ?? null,
    status: state?.phase ?? 'absent',
    nics,
    ip: nics.find(({ slot }) => slot === managed)?.ip ?? null,
  };
}

/**
 * The MAC address that the stack sets, as applied; else the one that Proxmox assigned. One that the stack sets is known
 * before the VM exists, for DHCP reservations.
 */
function macOf(slot: string, fields: ResolvedVm['fields'], state: VmRecord | undefined): string | null {
  const applied = state?.lastApplied[`nics.${slot}.mac`];
  const fixed = typeof applied === 'string' ? applied : undefined;
  return (fixed ?? state?.macs[slot] ?? fields.nics?.[slot]?.mac)?.toUpperCase() ?? null;
}

/** Reported by the guest, else from the stack; null if the VM does not exist. */
function ipOf(slot: string, fields: ResolvedVm['fields'], state: VmRecord | undefined): string | null {
  if (!state) return null;
  return state.addresses[slot]?.[0] ?? staticAddresses(fields.nics?.[slot])[0] ?? null;
}

/** Compares each VM that exists and can be read: its identity, and every field of the file. */
export function evidenceOfVms(input: EvidenceContext): ReadonlyMap<Address, Evidence> {
  const { stack, state, observed } = input;
  const entries = stack.vms.flatMap((vm): [Address, Evidence][] => {
    const [recorded, found] = [state.vms[vm.address], observed.vms.get(vm.address)];
    if (!recorded || found?.kind !== 'present') return [];
    const { vmid, uuid } = found.vm;
    const desired = desiredOfExisting(input, vm, recorded, found.vm);
    const fields = [
      ...comparedFields(desired, found.vm, recorded.lastApplied),
      ...comparedHa(comparableHa(vm.fields.ha, observed), observedHa(observed, vmid)),
    ].map(({ desired: wanted, observed: found, ...rest }) => ({ ...rest, wanted, found }));
    return [[vm.address, { uuid: { wanted: recorded.uuid ?? null, found: uuid ?? null }, fields }]];
  });
  return new Map(entries);
}
