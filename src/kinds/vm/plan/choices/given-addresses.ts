/**
 * Which static address each member of a group has. Member n has the nth of its range, unless the state records another
 * one: a member that was created before the VM it replaces was destroyed keeps its spare address. Pure.
 */
import type { Address } from '../../../../base/address.ts';
import { parseIp, printIp } from '../../../../base/values/ip-address.ts';
import type { StackState } from '../../../recorded.ts';
import type { ResolvedStack } from '../../../stack.ts';
import type { NicFields } from '../../fields/nics.ts';
import type { AddressRange, ResolvedVm } from '../../stack.ts';

/** Field path (`nics.net0.ipv4.address`) → address. */
export type Given = Readonly<Record<string, string>>;

/** The stack with the addresses that its VMs have. */
export function withGivenAddresses(stack: ResolvedStack, state: StackState): ResolvedStack {
  const ranged = stack.vms.filter(({ addressRanges }) => addressRanges);
  const kept = new Map(ranged.map((vm) => [vm.address, stillInRange(vm, givenBefore(vm.address, state))]));
  if ([...kept.values()].every((given) => Object.keys(given).length === 0)) return stack;
  const taken = new Set([...kept.values()].flatMap((given) => Object.values(given)));
  const placed = stack.vms.map((vm) => withAddresses(vm, kept.get(vm.address) ?? {}));
  return { ...stack, vms: placed.map((vm) => withAddresses(vm, { ...displaced(vm, placed, taken), ...vm.given })) };
}

/** What the state records for a VM, also while the VM is being replaced. */
export function givenBefore(address: Address, { vms, outages }: StackState): Given {
  return vms[address]?.given ?? outages?.[address]?.keeps?.given ?? {};
}

function stillInRange({ addressRanges = {} }: ResolvedVm, given: Given): Given {
  return Object.fromEntries(
    Object.entries(given).filter(([path, address]) => addressRanges[path]?.some((range) => isIn(range, address))),
  );
}

/** The group has grown, and another member has the address that belongs to the number of this one. */
function displaced(vm: ResolvedVm, vms: readonly ResolvedVm[], taken: Set<string>): Given {
  const lost = Object.entries(ownAddresses(vm)).filter(([path, address]) => !vm.given?.[path] && taken.has(address));
  const others = vms.filter((other) => other !== vm);
  return Object.fromEntries(
    lost.flatMap(([path]) => {
      const free = spareOf(vm, path, others, taken);
      return free === undefined ? [] : [[path, free] as const];
    }),
  );
}

/** Addresses of a VM that come from a range in the file. */
function ownAddresses({ addressRanges = {}, fields }: ResolvedVm): Given {
  return Object.fromEntries(
    Object.keys(addressRanges).flatMap((path) => {
      const address = addressAt(fields.nics ?? {}, path);
      return address === undefined ? [] : [[path, address] as const];
    }),
  );
}

/** The last address of the range that no member has; it is taken from then on. */
export function spareOf(
  { addressRanges = {} }: ResolvedVm,
  path: string,
  vms: readonly ResolvedVm[],
  taken: Set<string>,
): string | undefined {
  const used = new Set(vms.flatMap((vm) => staticAddressesOf(vm).map(([, address]) => withoutLength(address))));
  const isFree = (address: string) => !taken.has(address) && !used.has(withoutLength(address));
  for (const address of backwards(addressRanges[path] ?? [])) {
    if (!isFree(address)) continue;
    taken.add(address);
    return address;
  }
  return undefined;
}

/** From the end, so that the first ones stay free for new members. A network may have more addresses than can be tried. */
const MAX_TRIED = 20_000;

function* backwards(ranges: readonly AddressRange[]): Generator<string> {
  let left = MAX_TRIED;
  for (const { first, last, length } of ranges.toReversed()) {
    const [lowest, highest] = [parseIp(first), parseIp(last)];
    if (!lowest || !highest) continue;
    for (let { value } = highest; value >= lowest.value && left > 0; value--, left--) {
      yield `${printIp({ ...lowest, value })}/${length}`;
    }
  }
}

function isIn({ first, last, length }: AddressRange, text: string): boolean {
  const [address, own] = text.split('/');
  const [value, lowest, highest] = [parseIp(address ?? ''), parseIp(first), parseIp(last)];
  if (!value || !lowest || !highest || value.version !== lowest.version) return false;
  return Number(own) === length && value.value >= lowest.value && value.value <= highest.value;
}

const withoutLength = (address: string) => address.replace(/\/\d+$/, '');

/** Every static address of a VM: field path and address with its length. */
export function staticAddressesOf({ fields: { nics = {} } }: Pick<ResolvedVm, 'fields'>): [string, string][] {
  return Object.keys(nics).flatMap((slot) =>
    ['ipv4', 'ipv6'].flatMap((version): [string, string][] => {
      const path = `nics.${slot}.${version}.address`;
      const address = nics[slot]?.remove ? undefined : addressAt(nics, path);
      return address === undefined ? [] : [[path, address]];
    }),
  );
}

function addressAt(nics: Readonly<Record<string, NicFields>>, path: string): string | undefined {
  const [, slot = '', version] = path.split('.');
  const settings = nics[slot]?.[version === 'ipv6' ? 'ipv6' : 'ipv4'];
  return typeof settings === 'object' ? settings.address : undefined;
}

export function withAddresses(vm: ResolvedVm, given: Given): ResolvedVm {
  const nics = { ...vm.fields.nics };
  for (const [path, address] of Object.entries(given)) {
    const [, slot = '', version] = path.split('.');
    const family = version === 'ipv6' ? 'ipv6' : 'ipv4';
    const nic = nics[slot];
    if (nic && typeof nic[family] === 'object') nics[slot] = { ...nic, [family]: { ...nic[family], address } };
  }
  return Object.keys(given).length > 0 ? { ...vm, fields: { ...vm.fields, nics }, given } : vm;
}
