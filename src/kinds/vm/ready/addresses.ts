/**
 * Which address belongs to which NIC of a VM: what the guest reports, matched by MAC. Pure. Keyed by slot, never by
 * position, because a guest lists its interfaces in any order and adds its own bridges and tunnels.
 */

import {
  type IpAddress,
  isInside,
  isLinkLocal,
  isSameIp,
  parseInterface,
  parseIp,
  specialUse,
} from '../../../base/values/ip-address.ts';
import type { GuestInterface } from '../../../pve/index.ts';

/** A NIC of the VM, as the server and the stack know it. */
export interface NicIdentity {
  readonly slot: string;
  readonly mac: string;
  /** Addresses that the stack gives it, without prefix length. */
  readonly expected: readonly string[];
}

/** NIC slot → addresses, the preferred one first; every NIC is a key. */
export type NicAddresses = Readonly<Record<string, readonly string[]>>;

export function reportedAddresses(nics: readonly NicIdentity[], interfaces: readonly GuestInterface[]): NicAddresses {
  return Object.fromEntries(nics.map((nic) => [nic.slot, addressesOf(nic, interfaces)]));
}

/** The addresses in the stack, for a guest that cannot be asked. */
export function expectedAddresses(nics: readonly NicIdentity[]): NicAddresses {
  return Object.fromEntries(nics.map(({ slot, expected }) => [slot, expected]));
}

/** Whether the guest has an address on this NIC: the one the stack gives it, or any where the stack gives none. */
export function hasAddress(nic: NicIdentity, addresses: NicAddresses): boolean {
  const known = addresses[nic.slot] ?? [];
  return nic.expected.length === 0 ? known.length > 0 : known.some((address) => isExpected(nic, parseIp(address)));
}

interface Reported {
  readonly text: string;
  readonly ip: IpAddress;
  readonly length: number;
}

function addressesOf(nic: NicIdentity, interfaces: readonly GuestInterface[]): string[] {
  const reported = interfaces
    // A bridge or VLAN in the guest on top of the NIC has the NIC's MAC address; docker0 and cni0 have others.
    .filter((entry) => entry['hardware-address']?.toLowerCase() === nic.mac.toLowerCase())
    .flatMap((entry) => entry['ip-addresses'] ?? [])
    .flatMap((entry): Reported[] => {
      const ip = parseIp(entry['ip-address']);
      return ip && isUsable(ip) ? [{ text: entry['ip-address'], ip, length: entry.prefix }] : [];
    });
  const sorted = reported.toSorted((a, b) => preference(nic, a) - preference(nic, b));
  return [...new Set(sorted.map(({ text }) => text))];
}

const isUsable = (ip: IpAddress) => specialUse(ip) === undefined && !isLinkLocal(ip);

/** Smaller is better; equals stay in the order of the guest. */
function preference(nic: NicIdentity, { ip, length }: Reported): number {
  if (isExpected(nic, ip)) return 0;
  if (ip.version === 6) return 5;
  // A virtual address of a cluster is a /32 on the same NIC and moves to other nodes.
  const wanders = length === 32 ? 2 : 0;
  return (isPrivate(ip) ? 1 : 2) + wanders;
}

function isExpected(nic: NicIdentity, ip: IpAddress | undefined): boolean {
  return nic.expected.some((text) => {
    const expected = parseIp(text);
    return ip !== undefined && expected !== undefined && isSameIp(ip, expected);
  });
}

/** RFC 1918. */
const PRIVATE_NETWORKS = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].flatMap(
  (text) => parseInterface(text) ?? [],
);

const isPrivate = (ip: IpAddress) => PRIVATE_NETWORKS.some((network) => isInside(ip, network));
