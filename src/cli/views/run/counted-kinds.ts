/** Counts the resources of a run in words: `2 VMs, 1 template and 1 image`. */
import { type AddressKind, kindOf } from '../../../base/address.ts';
import { counted } from '../../../base/values/units.ts';
import { KINDS } from '../../../kinds/registry.ts';

/** Dependents first: VMs before their templates and images. */
const NOUNS: readonly (readonly [AddressKind, string])[] = KINDS.toReversed().flatMap(
  ({ words }) => Object.entries(words.nouns) as [AddressKind, string][], // the keys of that record
);

export function countedKinds(addresses: Iterable<string>): string {
  const counts = new Map<AddressKind, number>();
  for (const address of addresses) {
    const kind = kindOf(address);
    // A PCI mapping belongs to the VMs that use it.
    if (kind === undefined) continue;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const parts = NOUNS.flatMap(([kind, noun]) => {
    const count = counts.get(kind);
    return count === undefined ? [] : [counted(count, noun)];
  });
  const last = parts.pop() ?? counted(0, 'VM');
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
}

/** `1 of 2 VMs`; with several kinds `1 of 3 (2 VMs and 1 image)`. */
export function partOf(count: number, addresses: Iterable<string>): string {
  const all = [...addresses].filter((address) => kindOf(address) !== undefined);
  const words = countedKinds(all);
  const isMixed = new Set(all.map(kindOf)).size > 1;
  return isMixed ? `${count} of ${all.length} (${words})` : `${count} of ${words}`;
}
