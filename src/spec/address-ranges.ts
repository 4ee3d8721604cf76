/** `addresses` of a NIC: `10.0.20.11-10.0.20.19/24`, single addresses or a list of both; member n takes the nth. */
import { counted } from '../base/count.ts';
import type { Where } from '../base/diagnostics.ts';
import { type IpAddress, isInside, parseInterface, parseIp, printIp } from '../base/ip-address.ts';
import type { Findings } from './findings.ts';
import {
  describeKind,
  type Entry,
  type Located,
  type LocatedMap,
  quote,
  scalar,
  unknownAt,
  withEntry,
} from './located.ts';

/** A VM's tree with each `addresses` replaced by the `address` of this member. */
export function shareAddresses(vm: LocatedMap, number: number, findings: Findings): LocatedMap {
  const nics = vm.entries.get('nics');
  if (nics?.value.kind !== 'map') return vm;
  let shared = nics.value;
  for (const [slot, nic] of nics.value.entries) {
    if (nic.value.kind !== 'map') continue;
    let changed = nic.value;
    for (const family of ['ipv4', 'ipv6']) {
      const settings = nic.value.entries.get(family);
      if (settings?.value.kind !== 'map' || !settings.value.entries.has('addresses')) continue;
      changed = withEntry(changed, family, { ...settings, value: settled(settings.value, number, findings) });
    }
    if (changed !== nic.value) shared = withEntry(shared, slot, { ...nic, value: changed });
  }
  return shared === nics.value ? vm : withEntry(vm, 'nics', { ...nics, value: shared });
}

function settled(settings: LocatedMap, number: number, findings: Findings): LocatedMap {
  const given = settings.entries.get('addresses');
  if (!given) return settings;
  if (settings.entries.has('address')) {
    findings.add({
      code: 'BAD_VALUE',
      where: given.keyAt,
      detail:
        '"address" and "addresses" cannot be used together: give one address, or a range for the members of a group.',
    });
  }
  const address: Entry = { keyAt: given.keyAt, value: nth(given.value, number, findings) };
  return withEntry(withEntry(settings, 'addresses', undefined), 'address', address);
}

function nth(node: Located, number: number, findings: Findings): Located {
  if (node.kind === 'unknown') return node;
  let left = BigInt(number);
  for (const part of node.kind === 'list' ? node.items : [node]) {
    const range = readRange(part, findings);
    if (!range) return unknownAt(node.at);
    const size = range.last.value - range.first.value + 1n;
    if (left <= size) {
      const address = printIp({ version: range.first.version, value: range.first.value + left - 1n });
      return scalar(`${address}/${range.length}`, part.at);
    }
    left -= size;
  }
  findings.add({
    code: 'BAD_VALUE',
    where: node.at,
    detail: `"addresses" holds ${counted(BigInt(number) - left, 'address', 'addresses')}, but the group has more VMs.`,
    hint: 'Widen the range, lower the count, or give the rest an address under "overrides".',
  });
  return unknownAt(node.at);
}

interface Range {
  readonly first: IpAddress;
  readonly last: IpAddress;
  readonly length: number;
}

function readRange(node: Located, findings: Findings): Range | undefined {
  if (node.kind === 'unknown') return undefined;
  const text = node.kind === 'scalar' && typeof node.value === 'string' ? node.value.trim() : '';
  const [, from = '', to = from, length = ''] = /^([^\s/-]+)\s*(?:-\s*([^\s/-]+))?\/(\d+)$/.exec(text) ?? [];
  const start = parseInterface(`${from}/${length}`);
  const last = parseIp(to);
  if (!start || !last || start.address.version !== last.version) {
    return refuse(node.at, `${describeKind(node)} is not a range of addresses with a prefix length.`, findings);
  }
  if (last.value < start.address.value)
    return refuse(node.at, `The range ${quote(text)} is reversed: its end is before its start.`, findings);
  if (!isInside(last, start)) {
    return refuse(node.at, `The ends of the range ${quote(text)} are in different networks.`, findings);
  }
  return { first: start.address, last, length: start.length };
}

function refuse(where: Where, detail: string, findings: Findings): undefined {
  findings.add({ code: 'BAD_VALUE', where, detail, hint: 'Write for example 10.0.20.11-10.0.20.19/24.' });
}
