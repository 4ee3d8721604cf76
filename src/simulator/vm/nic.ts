/** Network cards: printing their property string with a MAC address, generated where none was given. */
import { type Random, randomInteger } from '../../base/random.ts';
import {
  formatOfKey,
  type PropertyFormat,
  type PropertyValue,
  parseProperty,
  printProperty,
} from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';

const NIC_FORMAT = formatOfKey('net0') as PropertyFormat; // net0 is a key of every version

export function parseNic(text: string): PropertyValue | undefined {
  const parsed = parseProperty(NIC_FORMAT, text);
  return parsed.ok ? parsed.value : undefined;
}

/** Rule [recorded config-put-post]: a NIC is re-printed on every write, and a missing MAC means a new one. */
export function printNicWithMac(runtime: Runtime, text: string): string {
  const nic = parseNic(text);
  if (!nic) return text;
  return printProperty(NIC_FORMAT, nic.get('macaddr') ? nic : nic.with('macaddr', randomMac(runtime)));
}

/** Rule [source QS API2/Qemu.pm clone_vm]: a clone gets new MAC addresses throughout. */
export function printNicWithNewMac(runtime: Runtime, text: string): string {
  const nic = parseNic(text);
  return nic ? printProperty(NIC_FORMAT, nic.with('macaddr', randomMac(runtime))) : text;
}

/** Rule [source PC Tools.pm random_ether_addr]: the datacenter's prefix (BC:24:11 by default), upper case. */
function randomMac(runtime: Runtime): string {
  const prefix = (runtime.world.datacenter.get('mac_prefix') ?? 'BC:24:11').toUpperCase();
  const address = Array.from({ length: 6 }, () => randomOctet(runtime.random))
    .join(':')
    .toUpperCase();
  // The prefix is laid over the text, so it may end within an octet or with a colon.
  return `${prefix}${address.slice(prefix.length)}`;
}

function randomOctet(random: Random): string {
  return randomInteger(random, 0, 255).toString(16).padStart(2, '0');
}
