/**
 * What the token may do, and which tags it may set. A privilege in the answer is granted; its value says whether it
 * propagates to the paths below. The answer already combines token and user. One request returns an overview: the top
 * paths, and all paths with their own entries. It leaves out paths where nothing is granted, so any other path needs
 * its own request.
 */
import { setMaxListeners } from 'node:events';
import { MAX_AGE_MS } from '../../kinds/cluster.ts';
import type { Pve } from '../../pve/client.ts';
import type { ClusterOptions, Permissions } from '../../pve/index.ts';
import { splitList, splitProperty } from '../../pve/wire/index.ts';
import { type Requirement, RequirementList } from './requirement.ts';
import type { PlanNeeds } from './requirements.ts';

/** Privilege → whether it propagates. */
type GrantsOnPath = ReadonlyMap<string, boolean>;

/** In the overview if anything is granted there. */
const TOP_PATHS: ReadonlySet<string> = new Set([
  '/',
  '/access',
  '/access/groups',
  '/nodes',
  '/pool',
  '/sdn',
  '/storage',
  '/vms',
]);

interface KnownBefore {
  /** A deleted VM takes its entries with it, so the path of an absent one inherits unless the overview has it. */
  readonly isAbsent?: ((vmid: number) => boolean) | undefined;
  readonly overview?: Permissions | undefined;
}

export class Grants {
  readonly #pve: Pve;
  readonly #signal: AbortSignal | undefined;
  readonly #isAbsent: (vmid: number) => boolean;
  #overview: Promise<ReadonlyMap<string, GrantsOnPath>> | undefined;
  readonly #answers = new Map<string, Promise<GrantsOnPath>>();
  readonly #known = new Map<string, GrantsOnPath>();

  constructor(pve: Pve, signal?: AbortSignal, { isAbsent = () => false, overview }: KnownBefore = {}) {
    this.#pve = pve;
    this.#isAbsent = isAbsent;
    this.#signal = signal;
    if (overview) this.#overview = Promise.resolve(byPath(overview));
    // Many requests listen to the signal at once; that is not a leak.
    if (signal) setMaxListeners(0, signal);
  }

  /** Asks for each path only once. The client limits the number of concurrent requests. */
  async ask(paths: Iterable<string>): Promise<void> {
    await Promise.all([...paths].map((path) => this.#askOnce(path)));
  }

  /** Empty for a path that was not asked. */
  on(path: string): GrantsOnPath {
    return this.#known.get(path) ?? new Map();
  }

  /** All paths that were asked. */
  get paths(): readonly string[] {
    return [...this.#known.keys()];
  }

  holds(requirement: Pick<Requirement, 'privileges' | 'paths' | 'instead'>): boolean {
    return this.#isGranted(requirement) || (requirement.instead?.every((each) => this.#isGranted(each)) ?? false);
  }

  #isGranted({ privileges, paths }: Pick<Requirement, 'privileges' | 'paths'>): boolean {
    return paths.some(({ path, below }) =>
      privileges.some((privilege) => {
        const propagates = this.on(path).get(privilege);
        return propagates === true || (propagates === false && !below);
      }),
    );
  }

  #askOnce(path: string): Promise<GrantsOnPath> {
    const asked = this.#answers.get(path) ?? this.#read(path);
    this.#answers.set(path, asked);
    return asked;
  }

  async #read(path: string): Promise<GrantsOnPath> {
    this.#overview ??= this.#readOverview();
    const overview = await this.#overview;
    const vmid = /^\/vms\/(\d+)$/.exec(path)?.[1];
    const isNewVm = vmid !== undefined && this.#isAbsent(Number(vmid));
    const granted =
      overview.get(path) ??
      (TOP_PATHS.has(path) ? new Map() : isNewVm ? propagated(overview.get('/vms')) : await this.#readPath(path));
    this.#known.set(path, granted);
    return granted;
  }

  async #readOverview(): Promise<ReadonlyMap<string, GrantsOnPath>> {
    return byPath(await this.#pve.access.permissions({}, this.#options()));
  }

  async #readPath(path: string): Promise<GrantsOnPath> {
    const answer = await this.#pve.access.permissions({ path }, this.#options());
    return new Map(Object.entries(answer[path] ?? {}));
  }

  #options() {
    return { signal: this.#signal, maxAgeMs: MAX_AGE_MS.grants };
  }
}

function byPath(permissions: Permissions): ReadonlyMap<string, GrantsOnPath> {
  return new Map(Object.entries(permissions).map(([path, granted]) => [path, new Map(Object.entries(granted))]));
}

/** What paths below inherit if they have no entries. */
function propagated(granted: GrantsOnPath | undefined): GrantsOnPath {
  return new Map([...(granted ?? [])].filter(([, propagates]) => propagates));
}

/** root@pam with a password may do everything; its tokens may not. */
export function isRealRoot({ principal }: Pick<Pve, 'principal'>): boolean {
  return principal === 'root@pam';
}

/**
 * Permissions do not cover tags that the datacenter reserves, and few tokens may read its settings. But every token gets a
 * list of allowed tags, which includes the tags of all visible VMs except reserved ones.
 */
type TagVerdict =
  | 'allowed'
  /** They need Sys.Modify on `/`. */
  | { readonly reserved: readonly string[] }
  /** The token may not read the settings of the datacenter. */
  | { readonly unknown: readonly string[] };

interface TagSettings {
  readonly options: ClusterOptions;
  /** The options include the settings that not every token may read. */
  readonly isComplete: boolean;
  /** Tags of VMs that the token may see. */
  readonly inUse: ReadonlySet<string>;
}

export function judgeTags(tags: readonly string[], { options, isComplete, inUse }: TagSettings): TagVerdict {
  const offered = new Set(options['allowed-tags'] ?? []);
  const rest = tags.filter((tag) => !offered.has(tag));
  if (rest.length === 0) return 'allowed';
  if (!isComplete) {
    // A tag in use would be in the list if every token could set it.
    const withheld = rest.filter((tag) => inUse.has(tag));
    return withheld.length > 0 ? { reserved: withheld } : { unknown: rest };
  }
  const registered = new Set(listOf(options['registered-tags']));
  const access = options['user-tag-access'];
  const isFree = userAllow(access) === 'free';
  const reserved = rest.filter((tag) => registered.has(tag) || !isFree);
  return reserved.length === 0 ? 'allowed' : { reserved };
}

/** Depending on the release, a list is a text or an array, and a property string is a text or an object. */
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
  /** Tags that may be reserved or not. */
  readonly unknown: PlanNeeds['tags'];
}

/** What adding and removing tags needs; `grants` belong to the token of `pve`. */
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
