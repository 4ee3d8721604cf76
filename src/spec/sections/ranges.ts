/**
 * Ranges shared by the members of a group: `vmids` (`101-109`) and `addresses` of a NIC (`10.0.20.11-10.0.20.19/24`). Each
 * may also be a single value, or a list of values and ranges; member n takes the nth address.
 */
import type { Where } from '../../base/diagnostics.ts';
import { advice, setting } from '../../base/hint.ts';
import { type IpAddress, isInside, parseInterface, parseIp, printIp } from '../../base/values/ip-address.ts';
import { counted } from '../../base/values/units.ts';
import type { ResolvedVm, AddressRange as SharedRange } from '../../kinds/vm/stack.ts';
import {
  child,
  describeKind,
  type Entry,
  type Located,
  type LocatedMap,
  quote,
  scalar,
  unknownAt,
  withEntry,
} from '../located.ts';
import type { Findings } from '../problems/findings.ts';

const LOWEST = 100;
const HIGHEST = 999_999_999;
const MAX_IDS = 10_000;

/** The IDs in `vmids`, of which `need.count` are needed. */
export function readPool(
  keys: Located,
  whole: LocatedMap,
  need: { readonly count: number; readonly words: string },
  findings: Findings,
): readonly number[] | undefined {
  const node = child(keys, 'vmids');
  if (!node) return undefined;
  const fixed = whole.entries.get('vmid');
  if (fixed) {
    findings.add({
      code: 'BAD_VALUE',
      where: fixed.keyAt,
      detail: '"vmid" and "vmids" cannot be used together: give one fixed ID, or a range to choose from.',
    });
  }
  const ids = readIds(node, findings);
  if (ids && ids.length < need.count) {
    findings.add({
      code: 'BAD_VALUE',
      where: node.at,
      detail: `"vmids" holds ${counted(ids.length, 'ID')}, but ${need.words}.`,
      hint: 'Widen the range, or lower the count.',
    });
  }
  return ids;
}

/** Undefined if it has a problem, which is then reported. */
function readIds(node: Located, findings: Findings): readonly number[] | undefined {
  const parts = node.kind === 'list' ? node.items : [node];
  const ids = new Set<number>();
  for (const part of parts) {
    const range = readIdRange(part, findings);
    if (!range) return undefined;
    if (ids.size + range.last - range.first >= MAX_IDS) {
      findings.add({
        code: 'BAD_VALUE',
        where: part.at,
        detail: `"vmids" names more than ${MAX_IDS} IDs.`,
        hint: 'Use a smaller range.',
      });
      return undefined;
    }
    for (let id = range.first; id <= range.last; id++) ids.add(id);
  }
  return [...ids];
}

function readIdRange(node: Located, findings: Findings): { readonly first: number; readonly last: number } | undefined {
  if (node.kind === 'unknown') return undefined;
  const text = node.kind === 'scalar' ? String(node.value) : '';
  const [, from = '', to = from] = /^\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*)?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  const problem =
    from === ''
      ? `${quote(text)} is neither an ID nor a range of IDs.`
      : first > last
        ? `The range ${text} is reversed: its end is before its start.`
        : first < LOWEST || last > HIGHEST
          ? `VM IDs are between ${LOWEST} and ${HIGHEST}, not ${text}.`
          : undefined;
  if (problem === undefined) return { first, last };
  findings.add({
    code: 'BAD_VALUE',
    where: node.at,
    detail: problem,
    hint: advice`Write for example ${setting('vmids', '101-109')}.`,
  });
  return undefined;
}

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

/** By field path: the ranges of addresses that the members share. */
export function addressRangesOf(vm: LocatedMap, findings: Findings): ResolvedVm['addressRanges'] {
  const nics = vm.entries.get('nics')?.value;
  const found: Record<string, readonly SharedRange[]> = {};
  for (const [slot, { value: nic }] of nics?.kind === 'map' ? nics.entries : []) {
    for (const family of ['ipv4', 'ipv6']) {
      const settings = nic.kind === 'map' ? nic.entries.get(family)?.value : undefined;
      const range = settings?.kind === 'map' ? settings.entries.get('addresses')?.value : undefined;
      if (range) found[`nics.${slot}.${family}.address`] = rangesIn(range, findings);
    }
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

function rangesIn(node: Located, findings: Findings): SharedRange[] {
  return (node.kind === 'list' ? node.items : [node]).flatMap((part) => {
    const range = readAddressRange(part, findings);
    return range ? [{ first: printIp(range.first), last: printIp(range.last), length: range.length }] : [];
  });
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
    const range = readAddressRange(part, findings);
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

interface AddressRange {
  readonly first: IpAddress;
  readonly last: IpAddress;
  readonly length: number;
}

function readAddressRange(node: Located, findings: Findings): AddressRange | undefined {
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
