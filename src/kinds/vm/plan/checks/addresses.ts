/** Finds address conflicts: whether another VM already has an address that the plan assigns. Pure. */
import type { Address } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { parseIp, printIp } from '../../../../base/values/ip-address.ts';
import { counted, inNumber } from '../../../../base/values/units.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Observed } from '../../../observed.ts';
import { recordedMachines, type StackState } from '../../../recorded.ts';
import { templateKey } from '../../../template/observed.ts';
import { configuredAddresses, networkOfNic } from '../../observe/neighbours.ts';
import type { NeighbourName, Network } from '../../observe/observed-vms.ts';
import { effectiveValues, type VmObserved } from '../../observed.ts';
import { staticAddresses } from '../../ready/checks.ts';
import type { VmRecord } from '../../record.ts';
import type { ResolvedVm } from '../../stack.ts';

/** An address that the file gives to a NIC. */
export interface StaticAddress {
  readonly slot: string;
  /** In its shortest spelling. */
  readonly address: string;
}

export function addressesInFile({ fields }: ResolvedVm): StaticAddress[] {
  return Object.entries(fields.nics ?? {}).flatMap(([slot, nic]) =>
    nic.remove ? [] : staticAddresses(nic).map((address) => ({ slot, address: shortest(address) })),
  );
}

/** Addresses that a VM does not have yet; all of them while it does not exist. */
export function newAddresses(
  vm: ResolvedVm,
  existing: { readonly vm: VmObserved; readonly recorded: VmRecord | undefined } | undefined,
): StaticAddress[] {
  const all = addressesInFile(vm);
  if (!existing || all.length === 0) return all;
  const { recorded } = existing;
  const applied = recorded?.phase === 'complete' ? recordedAddresses(recorded) : [];
  const had = new Set([
    ...configuredAddresses(effectiveValues(existing.vm)).map(([slot, address]) => `${slot} ${shortest(address)}`),
    ...applied.map(({ slot, address }) => `${slot} ${address}`),
  ]);
  return all.filter(({ slot, address }) => !had.has(`${slot} ${address}`));
}

/** What the last apply gave it, also in cloud-init files that Proxmox does not show. */
function recordedAddresses({ lastApplied }: VmRecord): StaticAddress[] {
  return Object.entries(lastApplied).flatMap(([path, value]) => {
    const slot = /^nics\.(net\d+)\.ipv[46]\.address$/.exec(path)?.[1];
    const address = typeof value === 'string' ? value.replace(/\/\d+$/, '') : '';
    return slot !== undefined && parseIp(address) ? [{ slot, address: shortest(address) }] : [];
  });
}

/** Another VM that has an address. */
interface Holder extends NeighbourName {
  /** Of a VM of this stack. */
  readonly address?: Address;
  /** The evidence, as the end of a sentence. */
  readonly evidence: string;
  readonly network: Network;
}

type Holders = ReadonlyMap<string, readonly Holder[]>;

interface AddressContext {
  readonly stack: { readonly vms: readonly ResolvedVm[] };
  readonly state: StackState;
  readonly observed: Observed;
}

/**
 * Which VM has which address: other VMs and, unless they are deleted, recorded VMs that left the file. Computed once
 * per plan.
 */
export function addressHolders(context: AddressContext, areDeleted = false): Holders {
  const holders = new Map<string, Holder[]>();
  for (const [address, others] of context.observed.neighbours?.holders ?? []) {
    holders.set(
      address,
      others.map(({ source, ...holder }) => ({ ...holder, evidence: EVIDENCE[source] })),
    );
  }
  for (const [address, holder] of areDeleted ? [] : ownHolders(context))
    holders.set(address, [...(holders.get(address) ?? []), holder]);
  return holders;
}

const EVIDENCE = {
  configuration: 'according to its configuration',
  notes: 'according to the ownership line in its notes',
  agent: 'according to its guest agent',
  state: 'according to the state',
} as const;

/** Whether two VMs of the file get the same address was checked when the file was read. */
function ownHolders({ stack, state, observed }: AddressContext): [string, Holder][] {
  const inFile = new Set<string>(stack.vms.map(({ address }) => address));
  return recordedMachines(state).flatMap(([address, recorded]): [string, Holder][] => {
    const actual = observed.vms.get(address);
    if (inFile.has(address) || actual?.kind === 'gone') return [];
    const values = actual?.kind === 'present' ? effectiveValues(actual.vm) : new Map<string, string>();
    const { vmid, name, node } = recorded;
    return recordedAddresses(recorded).map((given) => [
      given.address,
      { vmid, name, node, address, evidence: EVIDENCE.state, network: networkOfNic(given.slot, values) },
    ]);
  });
}

/** `base` are the values of the VM or of its template: they name the network of a NIC that the file does not place. */
export function addressConflicts(
  vm: ResolvedVm,
  given: readonly StaticAddress[],
  base: ReadonlyMap<string, string>,
  holders: Holders,
): Diagnostic[] {
  return given.flatMap(({ slot, address }) =>
    (holders.get(address) ?? []).map((holder) => conflict(vm, slot, address, holder, networkInFile(vm, slot, base))),
  );
}

/** The values of a VM or, while it does not exist, of its template; empty where neither is known. */
export function baseOf(vm: ResolvedVm, observed: Observed): ReadonlyMap<string, string> {
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'present') return effectiveValues(found.vm);
  const candidates = observed.templates.get(templateKey(vm.fields.clone?.template ?? '')) ?? [];
  const template = candidates.find(({ node }) => node === vm.fields.node) ?? candidates[0];
  return template?.vm.ok ? template.vm.value.current : new Map();
}

function networkInFile({ fields }: ResolvedVm, slot: string, base: ReadonlyMap<string, string>): Network {
  const { bridge, vlan } = fields.nics?.[slot] ?? {};
  const inherited = networkOfNic(slot, base);
  // A new NIC without a VLAN is untagged.
  const untagged = base.has(slot) ? inherited.vlan : 0;
  return { bridge: bridge ?? inherited.bridge, vlan: vlan === false ? 0 : (vlan ?? untagged) };
}

function conflict(vm: ResolvedVm, slot: string, address: string, holder: Holder, network: Network): Diagnostic {
  const { vmid, name, node, evidence } = holder;
  const known = holder.address === undefined ? '' : `${holder.address}, `;
  const who = `${known}VM ${vmid} (${name ?? 'no name'}) on ${node}`;
  const error = new ProxwrightError({
    code: 'ADDRESS_TAKEN',
    where: whereOf(vm, addressPath(slot, address)),
    detail: `${address} of ${vm.address} is already the address of ${who}, ${evidence}.`,
    hint: `Give ${vm.address} another address, or change the address of VM ${vmid} first.`,
  }).diagnostic;
  if (isSameNetwork(network, holder.network)) return error;
  return {
    ...error,
    severity: 'warning',
    detail: `${error.detail} They are on different networks (${networkWords(network)} and ${networkWords(holder.network)}).`,
    hint: { text: `If these networks are connected, give ${vm.address} another address.` },
  };
}

function addressPath(slot: string, address: string): string {
  return `nics.${slot}.${address.includes(':') ? 'ipv6' : 'ipv4'}.address`;
}

/** Unknown values count as equal. */
function isSameNetwork(one: Network, other: Network): boolean {
  const agree = <Value>(a: Value | undefined, b: Value | undefined) => a === undefined || b === undefined || a === b;
  return agree(one.bridge, other.bridge) && agree(one.vlan, other.vlan);
}

function networkWords({ bridge = 'an unknown bridge', vlan }: Network): string {
  return vlan ? `${bridge}, VLAN ${vlan}` : bridge;
}

const SHOWN = 8;

/** What the addresses were compared with, in sentences. */
export function comparedWith({ neighbours }: Observed): string[] {
  if (!neighbours) return [];
  const { vms, silent } = neighbours;
  const read = `Addresses were compared with ${counted(vms.size, 'other VM')}.`;
  if (silent.length === 0) return [read];
  const verb = inNumber(silent.length, 'says', 'say');
  return [
    `${read} ${silent.length} of them ${verb} nothing about addresses (no ipconfig, and no answer from a guest agent): ${listed(silent)}.`,
  ];
}

/** Guests that may have any address. */
export function notCompared({ neighbours }: Observed): string[] {
  if (!neighbours) return [];
  const { unread, isComplete } = neighbours;
  const byReason = new Map<string, NeighbourName[]>();
  for (const { why, ...guest } of unread) byReason.set(why, [...(byReason.get(why) ?? []), guest]);
  const reasons = [...byReason].map(([why, guests]) => `${listed(guests)} ${why}`);
  return [...reasons, ...(isComplete ? [] : ['guests that the token does not see need VM.Audit on /vms, propagated'])];
}

/** At the first address that was compared. */
export function notComparedWarning(vm: ResolvedVm, { slot, address }: StaticAddress, observed: Observed): Diagnostic[] {
  const reasons = notCompared(observed);
  if (reasons.length === 0) return [];
  return [
    {
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `Addresses were not compared with all guests: ${reasons.join('; ')}.`,
      where: whereOf(vm, addressPath(slot, address)),
    },
  ];
}

function listed(guests: readonly NeighbourName[]): string {
  const names = guests.slice(0, SHOWN).map(({ vmid, name }) => (name === undefined ? `${vmid}` : `${vmid} (${name})`));
  return guests.length > SHOWN ? `${names.join(', ')} and ${guests.length - SHOWN} more` : names.join(', ');
}

function shortest(address: string): string {
  const ip = parseIp(address);
  return ip ? printIp(ip) : address;
}
