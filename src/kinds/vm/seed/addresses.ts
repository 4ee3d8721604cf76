/**
 * The addresses in custom cloud-init files. Proxmox does not show what is in an ISO, so the ownership line in the VM's notes
 * names them: every other stack can then see that they are in use, also while the VM is stopped. Pure.
 */
import { parseIp, printIp } from '../../../base/values/ip-address.ts';
import type { VmFields } from '../fields/index.ts';
import type { VmObserved } from '../observed.ts';
import { findOwnership, ownershipCounts } from '../ownership.ts';
import { staticAddresses } from '../ready/checks.ts';
import { seedFieldsOf } from './fields.ts';

const NONE = 'none';
/** The notes hold 8 KiB, and most of them belong to the user. */
const MOST_LETTERS = 1024;

/**
 * As the ownership line names them; undefined without custom files, and with custom network data, which may hold any. No
 * sensitive variable decides an address.
 */
export function ipsOfSeed(fields: VmFields): string | undefined {
  const seed = seedFieldsOf(fields);
  if (!seed || seed.own.includes('network_data')) return undefined;
  const ips = Object.entries(seed.nics).flatMap(([slot, nic]) =>
    staticAddresses(nic).flatMap((address) => {
      const ip = parseIp(address);
      return ip ? [`${slot}/${printIp(ip)}`] : [];
    }),
  );
  const text = ips.join(',') || NONE;
  return text.length > MOST_LETTERS ? undefined : text;
}

/** NIC slot and address; undefined where the notes do not say it, or say it of another VM that this one was copied from. */
export function ipsInNotes(vm: VmObserved): [slot: string, address: string][] | undefined {
  const owner = findOwnership(vm.current.get('description') ?? '');
  if (owner?.ips === undefined || !ownershipCounts(owner, vm)) return undefined;
  if (owner.ips === NONE) return [];
  const named = owner.ips.split(',').map((part) => /^(net\d+)\/(.+)$/.exec(part)?.slice(1) ?? []);
  const valid = named.flatMap(([slot, address]): [string, string][] =>
    slot !== undefined && address !== undefined && parseIp(address) ? [[slot, address]] : [],
  );
  return valid.length === named.length ? valid : undefined;
}
