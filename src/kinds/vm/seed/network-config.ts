/**
 * `network-config`, version 1: the one that every cloud-init and every Talos reads, with gateways that no renderer calls
 * outdated. Cards are found by their MAC address; the name is what Proxmox's own drive calls them.
 */
import { invariant } from '../../../base/assert.ts';
import type { SeedFields } from './fields.ts';

interface Subnet {
  readonly type: 'dhcp4' | 'dhcp6' | 'static' | 'static6' | 'ipv6_dhcpv6-stateful' | 'ipv6_slaac';
  readonly address?: string;
  readonly gateway?: string;
}

type Nic = SeedFields['nics'][string];
type Macs = Readonly<Record<string, string>>;

/** Undefined where the guest's own way, DHCP on its first card, is all that is wanted. */
export function networkConfig({ guest, nics, dns }: SeedFields, macs: Macs): object | undefined {
  const slots = Object.keys(nics).sort((left, right) => numberOf(left) - numberOf(right));
  const given = slots.filter((slot) => nics[slot]?.ipv4 !== undefined || nics[slot]?.ipv6 !== undefined);
  const hasDns = (dns?.servers ?? []).length > 0 || dns?.domain !== undefined;
  // Talos asks for the document, and without cards in it still uses DHCP on all of them.
  if (guest !== 'talos' && given.length === 0 && !hasDns) return undefined;
  // The two words for the same: some renderers of cloud-init know only the one, and Talos only the other.
  const dhcp6 = guest === 'talos' ? 'ipv6_dhcpv6-stateful' : 'dhcp6';
  const card = (slot: string, nic: Nic) => cardOf(slot, nic, macs, dhcp6);
  // A document without cards would leave cloud-init without a network.
  const fallback = guest !== 'talos' && given.length === 0 ? slots.slice(0, 1) : [];
  return {
    version: 1,
    config: [
      ...given.map((slot) => card(slot, nics[slot] ?? {})),
      ...fallback.map((slot) => card(slot, { ipv4: 'dhcp' })),
      ...(hasDns ? [nameServers(dns)] : []),
    ],
  };
}

function cardOf(slot: string, { ipv4, ipv6 }: Nic, macs: Macs, dhcp6: Subnet['type']): object {
  const mac = macs[slot];
  invariant(mac !== undefined, `${slot} has no MAC address yet, and a seed tells cards apart by theirs.`);
  return {
    type: 'physical',
    name: `eth${numberOf(slot)}`,
    mac_address: mac.toLowerCase(),
    subnets: [...(ipv4 === undefined ? [] : [subnet4(ipv4)]), ...(ipv6 === undefined ? [] : [subnet6(ipv6, dhcp6)])],
  };
}

function subnet4(ipv4: NonNullable<Nic['ipv4']>): Subnet {
  return ipv4 === 'dhcp' ? { type: 'dhcp4' } : { type: 'static', ...place(ipv4) };
}

function subnet6(ipv6: NonNullable<Nic['ipv6']>, dhcp6: Subnet['type']): Subnet {
  if (ipv6 === 'auto') return { type: 'ipv6_slaac' };
  return ipv6 === 'dhcp' ? { type: dhcp6 } : { type: 'static6', ...place(ipv6) };
}

function place({ address, gateway }: { readonly address: string; readonly gateway?: string | undefined }) {
  return { address, ...(gateway !== undefined && { gateway }) };
}

function nameServers(dns: SeedFields['dns']): object {
  const { servers = [], domain } = dns ?? {};
  return {
    type: 'nameserver',
    address: servers,
    ...(domain !== undefined && { search: [domain] }),
  };
}

function numberOf(slot: string): number {
  return Number(slot.replace(/^net/, ''));
}
