/** `2 VMs, 1 template and 1 image`: what a run was about, in words. */
import { kindOf } from '../base/address.ts';
import { counted } from '../base/count.ts';

const WORDS = { vm: 'VM', template: 'template', retired: 'former template', image: 'image' } as const;

export function countedKinds(addresses: Iterable<string>): string {
  const counts = new Map<keyof typeof WORDS, number>();
  for (const address of addresses) {
    const kind = kindOf(address) ?? 'vm';
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const parts = (['vm', 'template', 'retired', 'image'] as const).flatMap((kind) => {
    const count = counts.get(kind);
    return count === undefined ? [] : [counted(count, WORDS[kind])];
  });
  const last = parts.pop() ?? counted(0, 'VM');
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`;
}
