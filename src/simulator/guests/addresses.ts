/** The network of a guest: one interface per NIC, with addresses from cloud-init or from the bridge's DHCP. */
import { splitProperty } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import { parseNic } from '../vm/machine.ts';
import type { Bridge, QemuProcess, Vm, World } from '../world/world.ts';
import { guestState, readsCloudInit } from './guest.ts';
import { seedNetworkOf } from './seed.ts';

export interface GuestAddress {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly prefix: number;
}

export interface GuestInterface {
  readonly name: string;
  readonly mac: string;
  readonly addresses: readonly GuestAddress[];
}

interface Lease {
  readonly address: string;
  readonly vm: Vm;
}

/** DHCP leases by bridge (`node/bridge`) and MAC; a lease outlives the VM until its address is needed. */
const leasesOfWorld = new WeakMap<World, Map<string, Map<string, Lease>>>();

/** The interfaces of a running guest besides `lo`, in the order of its NICs. */
export function guestInterfaces(runtime: Runtime, vm: Vm, process: QemuProcess): GuestInterface[] {
  const { networkUp } = guestState(process, runtime.clock.now());
  const interfaces: GuestInterface[] = [];
  for (let index = 0; index < 32; index++) {
    const nic = parseNic(vm.config.current.get(`net${index}`) ?? '');
    const mac = nic?.get('macaddr')?.toLowerCase();
    if (!nic || mac === undefined) continue;
    const isConnected = networkUp && nic.get('link_down') !== '1' && process.launched.has(`net${index}`);
    const bridge = runtime.world.nodes.get(vm.node)?.bridges.get(nic.get('bridge') ?? '');
    // Rule [assumed]: the DHCP server of a bridge serves its untagged network only, unless the world says otherwise.
    const dhcp = nic.get('tag') === undefined || bridge?.dhcp?.anyVlan ? bridge : undefined;
    const addresses = isConnected ? addressesOf(runtime.world, vm, process, index, mac, dhcp) : [];
    interfaces.push({ name: `eth${interfaces.length}`, mac, addresses });
  }
  return interfaces;
}

/** Whether a connection to this address and port would be accepted right now. */
export function isPortOpen(runtime: Runtime, address: string, port: number): boolean {
  for (const vm of runtime.world.vms.values()) {
    if (!vm.process?.guest?.ports.includes(port)) continue;
    const found = guestInterfaces(runtime, vm, vm.process).some((nic) =>
      nic.addresses.some((entry) => entry.address === address),
    );
    if (found) return true;
  }
  return false;
}

function addressesOf(
  world: World,
  vm: Vm,
  process: QemuProcess,
  index: number,
  mac: string,
  bridge: Bridge | undefined,
): GuestAddress[] {
  const linkLocal: GuestAddress = { address: linkLocalAddress(mac), family: 'ipv6', prefix: 64 };
  const addresses: GuestAddress[] = [];
  const requested = requestedAddresses(process, index, mac);
  if (requested.dhcp4) {
    const leased = bridge?.dhcp && leaseFor(world, vm, bridge, mac);
    if (leased !== undefined && bridge?.dhcp)
      addresses.push({ address: leased, family: 'ipv4', prefix: bridge.dhcp.prefix });
  }
  return [...addresses, ...requested.fixed, linkLocal];
}

interface RequestedAddresses {
  readonly dhcp4: boolean;
  readonly fixed: readonly GuestAddress[];
}

/** The configuration of one of the guest's cards; without any, the guest uses DHCP. */
function requestedAddresses(process: QemuProcess, index: number, mac: string): RequestedAddresses {
  if (!readsCloudInit(process)) return { dhcp4: true, fixed: [] };
  if (process.seed) {
    const network = seedNetworkOf(process.seed, mac, index);
    const fixed = (network?.addresses ?? []).flatMap((cidr) =>
      staticAddress(cidr, cidr.includes(':') ? 'ipv6' : 'ipv4'),
    );
    return { dhcp4: network?.dhcp4 ?? false, fixed };
  }
  const { ip, ip6 } = ipConfigOf(process.launched.get(`ipconfig${index}`));
  return {
    dhcp4: ip === 'dhcp',
    fixed: [
      ...(ip === undefined || ip === 'dhcp' ? [] : staticAddress(ip, 'ipv4')),
      ...(ip6 === undefined ? [] : staticAddress(ip6, 'ipv6')),
    ],
  };
}

/** Rule [recorded guest-agent]: the image's ipconfigN decides; Rule [assumed]: a NIC without one stays unconfigured. */
function ipConfigOf(text: string | undefined): { ip?: string; ip6?: string } {
  const result: { ip?: string; ip6?: string } = {};
  for (const { key, value } of splitProperty(text ?? '')) {
    if (key === 'ip' || key === 'ip6') result[key] = value;
  }
  return result;
}

function staticAddress(cidr: string, family: 'ipv4' | 'ipv6'): GuestAddress[] {
  const [address = '', prefix] = cidr.split('/');
  return prefix === undefined ? [] : [{ address, family, prefix: Number(prefix) }];
}

/** The same MAC gets the same address again; a full pool reclaims the leases of stopped or destroyed VMs. */
function leaseFor(world: World, vm: Vm, bridge: Bridge, mac: string): string | undefined {
  const pool = bridge.dhcp;
  if (!pool) return undefined;
  const reserved = pool.reservations?.get(mac);
  if (reserved !== undefined) return reserved;
  const allLeases = leasesOfWorld.get(world) ?? new Map<string, Map<string, Lease>>();
  leasesOfWorld.set(world, allLeases);
  const key = `${vm.node}/${bridge.name}`;
  const leases = allLeases.get(key) ?? new Map<string, Lease>();
  allLeases.set(key, leases);

  const existing = leases.get(mac);
  if (existing) return existing.address;
  const first = addressNumber(pool.first);
  const count = addressNumber(pool.last) - first + 1;
  if (leases.size >= count) {
    for (const [oldMac, lease] of leases) if (!lease.vm.process) leases.delete(oldMac);
  }
  const taken = new Set([...leases.values()].map((lease) => lease.address));
  for (const address of pool.reservations?.values() ?? []) taken.add(address);
  const start = macHash(mac) % count;
  for (let step = 0; step < count; step++) {
    const address = printAddress(first + ((start + step) % count));
    if (taken.has(address)) continue;
    leases.set(mac, { address, vm });
    return address;
  }
  return undefined;
}

/** Rule [recorded guest-agent]: dnsmasq derives the first address it tries from the MAC with the sdbm hash. */
function macHash(mac: string): number {
  let hash = 0;
  for (const octet of mac.split(':')) hash = (Number.parseInt(octet, 16) + (hash << 6) + (hash << 16) - hash) | 0;
  return hash >>> 0;
}

function addressNumber(address: string): number {
  return address.split('.').reduce((number, octet) => number * 256 + Number(octet), 0);
}

function printAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

/** Rule [recorded guest-agent]: the link-local address is made from the MAC (EUI-64). */
export function linkLocalAddress(mac: string): string {
  const octets = mac.split(':').map((octet) => Number.parseInt(octet, 16));
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0] = octets;
  const groups = [((first ^ 2) << 8) | second, (third << 8) | 0xff, 0xfe00 | fourth, (fifth << 8) | sixth];
  return `fe80::${groups.map((group) => group.toString(16)).join(':')}`;
}
