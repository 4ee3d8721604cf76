/**
 * The smallest roles and ACL entries that cover a set of requirements: one role for each kind of object, and a second one
 * for strong privileges, granted only where they are needed. Contains only privileges that the server knows. Pure.
 */
import { privilegesOf, type ServerVersion } from '../../pve/compatibility.ts';
import type { Grants } from './grants.ts';
import type { Requirement } from './requirement.ts';

export interface RoleDefinition {
  readonly name: string;
  /** Sorted. */
  readonly privileges: readonly string[];
}

export interface AclGrant {
  readonly path: string;
  readonly role: string;
  /** Whether it also applies to everything below. */
  readonly propagate: boolean;
}

export interface RoleSet {
  readonly roles: readonly RoleDefinition[];
  readonly acl: readonly AclGrant[];
}

export interface RoleOptions {
  readonly version: ServerVersion;
  /** Privileges that the server reports; without a server, the table of releases decides. */
  readonly known?: ReadonlySet<string>;
  /** Prefix of role names. */
  readonly name?: string;
  /**
   * `each`: an entry for every VM, which Proxmox removes together with the VM. `all`: one entry on /vms, which stays and
   * applies to all VMs of the cluster.
   */
  readonly vms?: 'each' | 'all';
  /** If one of several privileges is enough, one that is already granted is preferred. */
  readonly granted?: Pick<Grants, 'on'>;
  /** Privileges that a path must not lose: an entry replaces what the path inherits. */
  readonly keep?: (path: string) => Iterable<string>;
}

const DEFAULT_NAME = 'Proxwright';

/** Strong privileges, which get a separate role. */
const STRONG = new Set([
  'Sys.Modify',
  'Sys.Console',
  // On a storage with disks it allows changing and deleting all of them.
  'Datastore.Allocate',
  'Mapping.Modify',
  'VM.GuestAgent.Unrestricted',
  'VM.Monitor',
]);

export function smallestRoles(requirements: readonly Requirement[], options: RoleOptions): RoleSet {
  const places = placesOf(requirements, options);
  const prefix = options.name ?? DEFAULT_NAME;
  const roles = new Map<string, Set<string>>();
  const acl: AclGrant[] = [];
  for (const [path, { privileges, propagate }] of places) {
    const ordinary = [...privileges].filter((privilege) => !STRONG.has(privilege));
    const strong = [...privileges].filter((privilege) => STRONG.has(privilege));
    for (const [suffix, part] of [
      ['', ordinary],
      ['-Strong', strong],
    ] as const) {
      if (part.length === 0) continue;
      const name = `${prefix}-${kindOf(path, privileges)}${suffix}`;
      roles.set(name, new Set([...(roles.get(name) ?? []), ...part]));
      acl.push({ path, role: name, propagate });
    }
  }
  return {
    roles: [...roles].map(([name, privileges]) => ({ name, privileges: [...privileges].sort() })),
    acl,
  };
}

interface Place {
  readonly privileges: Set<string>;
  propagate: boolean;
}

function placesOf(requirements: readonly Requirement[], options: RoleOptions): Map<string, Place> {
  const known = options.known ?? privilegesOf(options.version);
  const templates = templatePaths(requirements);
  const places = new Map<string, Place>();
  const needed = requirements.map((requirement) => ({
    ...placeOf(requirement, options, templates),
    alternatives: requirement.privileges.filter((privilege) => known.has(privilege)),
  }));
  const take = (path: string, propagate: boolean, privilege: string) => {
    const place = places.get(path) ?? { privileges: new Set(), propagate: false };
    place.privileges.add(privilege);
    place.propagate ||= propagate;
    places.set(path, place);
  };
  // Requirements without alternatives first, because they may satisfy others.
  const inOrder = needed.toSorted((a, b) => Number(a.alternatives.length > 1) - Number(b.alternatives.length > 1));
  for (const { path, propagate, alternatives } of inOrder) {
    const there = places.get(path)?.privileges;
    const granted = options.granted?.on(path);
    const chosen =
      alternatives.find((each) => there?.has(each)) ??
      alternatives.find((each) => granted?.has(each)) ??
      alternatives[0];
    if (chosen !== undefined) take(path, propagate, chosen);
  }
  for (const [path, { privileges }] of places) if (isCovered(path, privileges, places)) places.delete(path);
  for (const [path, place] of places) {
    for (const privilege of options.keep?.(path) ?? []) if (known.has(privilege)) place.privileges.add(privilege);
  }
  return places;
}

/** Whether everything needed here propagates from above; an entry would then hide it. */
function isCovered(path: string, privileges: ReadonlySet<string>, places: ReadonlyMap<string, Place>): boolean {
  return [...places].some(
    ([above, place]) =>
      place.propagate && path.startsWith(`${above}/`) && [...privileges].every((each) => place.privileges.has(each)),
  );
}

/** Prefers a pool: its entry stays when VMs are deleted, and hides nothing that they inherit. */
function placeOf(
  { paths }: Requirement,
  { vms = 'each' }: RoleOptions,
  templates: ReadonlySet<string>,
): { path: string; propagate: boolean } {
  const { path, below = false } = paths.find((each) => each.path.startsWith('/pool/')) ?? paths[0];
  const isOwnVm = path.startsWith('/vms/') && !templates.has(path);
  return isOwnVm && vms === 'all' ? { path: '/vms', propagate: true } : { path, propagate: below };
}

/** VMs that are only read and cloned. */
function templatePaths(requirements: readonly Requirement[]): Set<string> {
  const onPath = new Map<string, Set<string>>();
  for (const { paths, privileges } of requirements) {
    const { path } = paths[0];
    onPath.set(path, new Set([...(onPath.get(path) ?? []), ...privileges]));
  }
  return new Set([...onPath].filter(([, privileges]) => isForTemplates(privileges)).map(([path]) => path));
}

function isForTemplates(privileges: ReadonlySet<string>): boolean {
  return privileges.has('VM.Clone') && [...privileges].every((each) => each === 'VM.Clone' || each === 'VM.Audit');
}

const KINDS: Readonly<Record<string, string>> = {
  vms: 'VM',
  storage: 'Storage',
  sdn: 'Network',
  mapping: 'Device',
  pool: 'Pool',
  nodes: 'Node',
  '': 'System',
};

function kindOf(path: string, privileges: ReadonlySet<string>): string {
  if (/^\/vms(\/\d+)?$/.test(path) && isForTemplates(privileges)) return 'Template';
  return KINDS[path.split('/')[1] ?? ''] ?? 'Other';
}

export interface PathPrivileges {
  readonly path: string;
  readonly privileges: readonly string[];
}

export interface RoleDifference {
  readonly missing: readonly PathPrivileges[];
  /** What the token has and does not need. */
  readonly tooMuch: readonly PathPrivileges[];
}

/** Compares with what the token has; the paths of the entries and `/` must have been asked before. */
export function compareWithGrants({ roles, acl }: RoleSet, granted: Pick<Grants, 'on'>): RoleDifference {
  const privilegesOfRole = new Map(roles.map(({ name, privileges }) => [name, privileges]));
  const needed = new Map<string, Set<string>>([['/', new Set()]]);
  const propagated = new Set(acl.filter(({ propagate }) => propagate).map(({ path }) => path));
  for (const { path, role } of acl) {
    needed.set(path, new Set([...(needed.get(path) ?? []), ...(privilegesOfRole.get(role) ?? [])]));
  }
  const missing: PathPrivileges[] = [];
  const tooMuch: PathPrivileges[] = [];
  for (const [path, privileges] of needed) {
    const there = granted.on(path);
    const isThere = (privilege: string) =>
      propagated.has(path) ? there.get(privilege) === true : there.has(privilege);
    const lacking = [...privileges].filter((privilege) => !isThere(privilege)).sort();
    const spare = [...there.keys()].filter((privilege) => !privileges.has(privilege)).sort();
    if (lacking.length > 0) missing.push({ path, privileges: lacking });
    if (spare.length > 0) tooMuch.push({ path, privileges: spare });
  }
  return { missing, tooMuch };
}
