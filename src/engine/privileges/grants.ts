/**
 * What the token may do, asked path by path and remembered. A privilege that is named is granted; what comes with it only
 * says whether it is passed on to everything below. The answer already takes token and owner together.
 */
import { setMaxListeners } from 'node:events';
import type { Pve } from '../../pve/client.ts';
import type { ClusterOptions } from '../../pve/index.ts';
import { splitList, splitProperty } from '../../pve/wire/index.ts';
import { type Requirement, RequirementList } from './requirement.ts';
import type { PlanNeeds } from './requirements.ts';

/** Privilege → whether it is passed on. */
type GrantsOnPath = ReadonlyMap<string, boolean>;

export class Grants {
  readonly #pve: Pve;
  readonly #signal: AbortSignal | undefined;
  readonly #answers = new Map<string, Promise<GrantsOnPath>>();
  readonly #known = new Map<string, GrantsOnPath>();

  constructor(pve: Pve, signal?: AbortSignal) {
    this.#pve = pve;
    this.#signal = signal;
    // Every question listens to it, and many are asked at once; that is no leak to be warned of.
    if (signal) setMaxListeners(0, signal);
  }

  /** All at once; each path is asked for only the first time. The client bounds how many requests are under way. */
  async ask(paths: Iterable<string>): Promise<void> {
    await Promise.all([...paths].map((path) => this.#askOnce(path)));
  }

  /** Nothing where nobody asked. */
  on(path: string): GrantsOnPath {
    return this.#known.get(path) ?? new Map();
  }

  /** Everything that was asked about. */
  get paths(): readonly string[] {
    return [...this.#known.keys()];
  }

  holds(requirement: Pick<Requirement, 'privileges' | 'paths' | 'instead'>): boolean {
    return this.#isGranted(requirement) || (requirement.instead?.every((each) => this.#isGranted(each)) ?? false);
  }

  #isGranted({ privileges, paths }: Pick<Requirement, 'privileges' | 'paths'>): boolean {
    return paths.some(({ path, below }) =>
      privileges.some((privilege) => {
        const isPassedOn = this.on(path).get(privilege);
        return isPassedOn === true || (isPassedOn === false && !below);
      }),
    );
  }

  #askOnce(path: string): Promise<GrantsOnPath> {
    const asked = this.#answers.get(path) ?? this.#read(path);
    this.#answers.set(path, asked);
    return asked;
  }

  async #read(path: string): Promise<GrantsOnPath> {
    const answer = await this.#pve.access.permissions({ path }, { signal: this.#signal });
    const granted = new Map(Object.entries(answer[path] ?? {}));
    this.#known.set(path, granted);
    return granted;
  }
}

/** Whoever logs in as root with a password may do everything; a token of root may not. */
export function isRealRoot({ principal }: Pick<Pve, 'principal'>): boolean {
  return principal === 'root@pam';
}

type TagVerdict =
  | 'allowed'
  /** They take Sys.Modify on `/`. */
  | { readonly reserved: readonly string[] }
  /** The settings of the datacenter are not shown to this token. */
  | { readonly unknown: readonly string[] };

interface TagSight {
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

interface TagNeeds {
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
