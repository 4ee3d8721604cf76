/** Tags that the datacenter reserves: the one right that the list of privileges does not tell. */

import type { ClusterOptions } from '../../pve/index.ts';
import { splitList, splitProperty } from '../../pve/wire/index.ts';

export type TagVerdict =
  | 'allowed'
  /** They take Sys.Modify on `/`. */
  | { readonly reserved: readonly string[] }
  /** The settings of the datacenter are not shown to this token. */
  | { readonly unknown: readonly string[] };

/** `isComplete`: the options are all that there are, not only what everybody may see. */
export function judgeTags(tags: readonly string[], options: ClusterOptions, isComplete: boolean): TagVerdict {
  const offered = new Set(options['allowed-tags'] ?? []);
  const rest = tags.filter((tag) => !offered.has(tag));
  if (rest.length === 0) return 'allowed';
  if (!isComplete) return { unknown: rest };
  const registered = new Set(listOf(options['registered-tags']));
  const access = options['user-tag-access'];
  const isFree = userAllow(access) === 'free';
  const reserved = rest.filter((tag) => registered.has(tag) || !isFree);
  return reserved.length === 0 ? 'allowed' : { reserved };
}

/** A list comes as text or as a list, a property string as text or as an object, depending on the release. */
function listOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' ? splitList(value) : [];
}

function userAllow(access: unknown): string {
  if (typeof access === 'object' && access !== null && 'user-allow' in access) return String(access['user-allow']);
  const parts = typeof access === 'string' ? splitProperty(access) : [];
  return parts.find(({ key }) => key === 'user-allow')?.value ?? 'free';
}
