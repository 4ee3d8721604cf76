/** One VM of the stack as the outputs show it: what the file says and what is remembered of it, side by side. */
import type { Address } from '../../base/address.ts';
import { type StackState, vmRecordOf } from '../../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import { managedNic, slotNumber, staticAddresses } from '../../kinds/vm/ready/checks.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { VmStatus } from './contract.ts';

export interface NicView {
  readonly slot: string;
  readonly mac: string | null;
  readonly ip: string | null;
  /** Address that the stack gives it, also while the VM does not exist. */
  readonly expected: string | null;
}

export interface VmView {
  readonly address: Address;
  readonly name: string;
  readonly group: string;
  readonly role: string | null;
  readonly isTalos: boolean;
  /** Whom cloud-init makes, where the stack says so. */
  readonly user: string | null;
  readonly vmid: number | null;
  readonly node: string;
  readonly status: VmStatus;
  readonly nics: readonly NicView[];
  /** Of the NIC through which the VM is talked to. */
  readonly ip: string | null;
}

/** In the order of the file. VMs that are only remembered have left the stack and its outputs. */
export function vmViews(stack: ResolvedStack, state: StackState): VmView[] {
  return stack.vms.map((vm) => vmView(vm, vmRecordOf(state, vm.address)));
}

function vmView({ address, group, fields }: ResolvedVm, state: VmRecord | undefined): VmView {
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
  return {
    address,
    name: fields.name,
    group,
    role: fields.role ?? null,
    isTalos: fields.guest === 'talos',
    user: fields.cloud_init?.user ?? null,
    // Zero stands for an id that is not decided yet.
    vmid: state?.vmid || null,
    node: state?.node || fields.node,
    status: state?.phase ?? 'absent',
    nics,
    ip: nics.find(({ slot }) => slot === managed)?.ip ?? null,
  };
}

/**
 * One that the stack fixed and that was read back, else the one that Proxmox gave; one that the stack fixes is known before
 * the VM exists, for reservations.
 */
function macOf(slot: string, fields: ResolvedVm['fields'], state: VmRecord | undefined): string | null {
  const applied = state?.lastApplied[`nics.${slot}.mac`];
  const fixed = typeof applied === 'string' ? applied : undefined;
  return (fixed ?? state?.macs[slot] ?? fields.nics?.[slot]?.mac)?.toUpperCase() ?? null;
}

/** What the guest reported, else what the stack gives it; a VM that does not exist has none. */
function ipOf(slot: string, fields: ResolvedVm['fields'], state: VmRecord | undefined): string | null {
  if (!state) return null;
  return state.addresses[slot]?.[0] ?? staticAddresses(fields.nics?.[slot])[0] ?? null;
}
