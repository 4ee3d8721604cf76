/** When a VM is ready: the defaults for its kind of guest, overridden by the stack. Pure data. */
import type { Address } from '../../../base/address.ts';
import type { VmFields } from '../fields/index.ts';
import type { NicFields } from '../fields/nics.ts';
import type { NicIdentity } from './addresses.ts';

export type GuestCommand = readonly [string, ...string[]];

export interface ReadyChecks {
  /** Consecutive answers of the agent; 0 to not wait for it. */
  readonly agentPings: number;
  /** An address must be known on the managed NIC. */
  readonly address: boolean;
  readonly osInfo: boolean;
  readonly cloudInit: boolean;
  /** The guest's service manager must report the agent as active. */
  readonly agentService: boolean;
  /** Commands in the guest that must exit with 0. */
  readonly commands: readonly GuestCommand[];
  /** Ports that must accept connections from this machine. */
  readonly ports: readonly number[];
  /** Ports that must accept connections if an address is known. */
  readonly portsIfAddressed: readonly number[];
  /** How long all conditions must hold. */
  readonly settleMs: number;
  /** Time limit of the whole wait. */
  readonly timeoutMs: number;
}

/** The VM to wait for. */
export interface ReadyTarget {
  readonly address: Address;
  readonly vmid: number;
  readonly node: string;
  readonly nics: readonly NicIdentity[];
  /** Slot of the NIC that is used to reach the VM. */
  readonly managedNic: string | undefined;
}

const USUAL_PINGS = 3;
/** Where Talos listens for its own API. */
const TALOS_PORT = 50_000;

/** `timeoutMs` is that of the rollout, for VMs that set none. */
export function readyChecks({ guest, ready = {} }: VmFields, timeoutMs: number): ReadyChecks {
  const commands = (ready.exec ?? []).flatMap(toCommand);
  const needsAgent =
    ready.pings !== undefined || ready.os_info || ready.cloud_init || ready.agent_service || commands.length > 0;
  const asksAgent = ready.agent ?? (guest === 'cloud-init' || needsAgent);
  const asksAll = guest === 'cloud-init' && asksAgent;
  return {
    agentPings: asksAgent ? (ready.pings ?? USUAL_PINGS) : 0,
    address: ready.address ?? asksAll,
    osInfo: ready.os_info ?? asksAll,
    cloudInit: ready.cloud_init ?? false,
    agentService: ready.agent_service ?? false,
    commands,
    ports: ready.tcp ?? [],
    portsIfAddressed: guest === 'talos' && ready.tcp === undefined ? [TALOS_PORT] : [],
    settleMs: ready.settle ?? 0,
    timeoutMs: ready.timeout ?? timeoutMs,
  };
}

export function readyTarget(
  address: Address,
  fields: Pick<VmFields, 'nics'>,
  vm: { readonly vmid: number; readonly node: string; readonly macs: Readonly<Record<string, string>> },
): ReadyTarget {
  const nics = Object.entries(vm.macs)
    .map(([slot, mac]) => ({ slot, mac, expected: staticAddresses(fields.nics?.[slot]) }))
    .sort((a, b) => slotNumber(a.slot) - slotNumber(b.slot));
  return { address, vmid: vm.vmid, node: vm.node, nics, managedNic: managedNic(fields, Object.keys(vm.macs)) };
}

/** The first NIC that the stack gives addresses to, else the first it mentions, else the first of the VM. */
export function managedNic({ nics = {} }: Pick<VmFields, 'nics'>, present: readonly string[]): string | undefined {
  const isDead = (slot: string) => nics[slot]?.remove === true || nics[slot]?.link_down === true;
  const bySlot = (slots: readonly string[]) =>
    slots.filter((slot) => !isDead(slot)).toSorted((a, b) => slotNumber(a) - slotNumber(b));
  const mentioned = bySlot(Object.keys(nics));
  const addressed = mentioned.find((slot) => nics[slot]?.ipv4 !== undefined || nics[slot]?.ipv6 !== undefined);
  return addressed ?? mentioned[0] ?? bySlot(present)[0];
}

/** Without the length of their network. */
export function staticAddresses(nic: Pick<NicFields, 'ipv4' | 'ipv6'> | undefined): string[] {
  return [nic?.ipv4, nic?.ipv6].flatMap((given) =>
    typeof given === 'object' ? [given.address.replace(/\/\d+$/, '')] : [],
  );
}

export function slotNumber(slot: string): number {
  return Number(slot.replace(/^\D+/, ''));
}

function toCommand([program, ...args]: readonly string[]): GuestCommand[] {
  return program === undefined ? [] : [[program, ...args]];
}
