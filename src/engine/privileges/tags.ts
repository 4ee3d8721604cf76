/**
 * Tags that the datacenter reserves: the one right that the list of privileges does not tell. Its settings are shown only to
 * some; to everybody it says which tags it allows, among them every tag of a VM that one may look at, unless it is reserved.
 */
import type { Pve } from '../../pve/client.ts';
import type { ClusterOptions } from '../../pve/index.ts';
import { splitList, splitProperty } from '../../pve/wire/index.ts';
import type { Grants } from './grants.ts';
import { type Requirement, RequirementList } from './requirement.ts';
import type { PlanNeeds } from './requirements.ts';

export type TagVerdict =
  | 'allowed'
  /** They take Sys.Modify on `/`. */
  | { readonly reserved: readonly string[] }
  /** The settings of the datacenter are not shown to this token. */
  | { readonly unknown: readonly string[] };

export interface TagSight {
  readonly options: ClusterOptions;
  /** The options are all that there are, not only what everybody may see. */
  readonly isComplete: boolean;
  /** Tags of VMs that the token may look at. */
  readonly inUse: ReadonlySet<string>;
}

export function judgeTags(tags: readonly string[], { options, isComplete, inUse }: TagSight): TagVerdict {
  const offered = new Set(options['allowed-tags'] ?? []);
  const rest = tags.filter((tag) => !offered.has(tag));
  if (rest.length === 0) return 'allowed';
  if (!isComplete) {
    // One that is seen in use would be offered if anybody might set it.
    const withheld = rest.filter((tag) => inUse.has(tag));
    return withheld.length > 0 ? { reserved: withheld } : { unknown: rest };
  }
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

export interface TagNeeds {
  readonly requirements: readonly Requirement[];
  /** Those of which nobody could say whether they are reserved. */
  readonly unknown: PlanNeeds['tags'];
}

/** What tags that come or go take; `grants` are those of whoever `pve` is. */
export async function tagNeedsOf(
  tags: PlanNeeds['tags'],
  { pve, grants, signal }: { readonly pve: Pve; readonly grants: Grants; readonly signal?: AbortSignal | undefined },
): Promise<TagNeeds> {
  if (tags.length === 0) return { requirements: [], unknown: [] };
  await grants.ask(['/']);
  const isComplete = grants.on('/').has('Sys.Audit');
  const options = await pve.cluster.options({ signal });
  const inUse = new Set(isComplete ? [] : await tagsInUse(pve, signal));
  const list = new RequirementList();
  const unknown: PlanNeeds['tags'][number][] = [];
  for (const each of tags) {
    const verdict = judgeTags(each.tags, { options, isComplete, inUse });
    if (verdict === 'allowed') continue;
    if ('unknown' in verdict) unknown.push({ ...each, tags: verdict.unknown });
    else list.add({ privileges: ['Sys.Modify'], paths: [{ path: '/' }] }, each.because);
  }
  return { requirements: list.all, unknown };
}

async function tagsInUse(pve: Pve, signal: AbortSignal | undefined): Promise<string[]> {
  const rows = await pve.cluster.resources({ type: 'vm' }, { signal });
  return rows.flatMap(({ tags }) => (typeof tags === 'string' ? splitList(tags) : []));
}
