/**
 * The smallest roles and access control entries that cover a set of requirements: one role for each kind of thing, and one
 * beside it for what is strong, so that only those get it who ask. Never a privilege that the server does not know. Pure.
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
  /** Whether it holds for everything below as well. */
  readonly propagate: boolean;
}

export interface RoleSet {
  readonly roles: readonly RoleDefinition[];
  readonly acl: readonly AclGrant[];
}

export interface RoleOptions {
  readonly version: ServerVersion;
  /** Privileges the server itself says it knows, where it could be asked; else the table decides. */
  readonly known?: ReadonlySet<string>;
  /** What the names of the roles begin with. */
  readonly name?: string;
  /**
   * `each`: an entry for every VM, which Proxmox removes together with the VM. `all`: one entry on /vms, which outlives
   * them and holds for everybody's VMs.
   */
  readonly vms?: 'each' | 'all';
  /** Where one of several privileges would do, the one that is there already is taken. */
  readonly granted?: Pick<Grants, 'on'>;
  /** Privileges that a path must not lose: an entry on it replaces whatever it inherits. */
  readonly keep?: (path: string) => Iterable<string>;
}

const DEFAULT_NAME = 'Proxwright';

/** They reach beyond what the role is for, so they are never handed to somebody who did not ask. */
const APART = new Set([
  'Sys.Modify',
  'Sys.Console',
  // On a storage for disks it would be the right to change and delete everybody's.
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
    const ordinary = [...privileges].filter((privilege) => !APART.has(privilege));
    const apart = [...privileges].filter((privilege) => APART.has(privilege));
    for (const [suffix, part] of [
      ['', ordinary],
      ['-Strong', apart],
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
  const wanted = requirements.map((requirement) => ({
    ...placeOf(requirement, options, templates),
    alternatives: requirement.privileges.filter((privilege) => known.has(privilege)),
  }));
  const take = (path: string, propagate: boolean, privilege: string) => {
    const place = places.get(path) ?? { privileges: new Set(), propagate: false };
    place.privileges.add(privilege);
    place.propagate ||= propagate;
    places.set(path, place);
  };
  // First what there is no choice about: it may settle the rest.
  const inOrder = wanted.toSorted((a, b) => Number(a.alternatives.length > 1) - Number(b.alternatives.length > 1));
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

/** Whether everything needed here is passed on from above; then an entry of its own would only be in the way. */
function isCovered(path: string, privileges: ReadonlySet<string>, places: ReadonlyMap<string, Place>): boolean {
  return [...places].some(
    ([above, place]) =>
      place.propagate && path.startsWith(`${above}/`) && [...privileges].every((each) => place.privileges.has(each)),
  );
}

/** A pool outlives its VMs and takes nothing away from them, so it is the better place where there is one. */
function placeOf(
  { paths }: Requirement,
  { vms = 'each' }: RoleOptions,
  templates: ReadonlySet<string>,
): { path: string; propagate: boolean } {
  const { path, below = false } = paths.find((each) => each.path.startsWith('/pool/')) ?? paths[0];
  const isOwnVm = path.startsWith('/vms/') && !templates.has(path);
  return isOwnVm && vms === 'all' ? { path: '/vms', propagate: true } : { path, propagate: below };
}

/** VMs that are only read and copied. */
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
  /** What the token may do there and does not need. */
  readonly tooMuch: readonly PathPrivileges[];
}

/** Beside what the token has; the paths of the entries and `/` must have been asked about. */
export function compareWithGrants({ roles, acl }: RoleSet, granted: Pick<Grants, 'on'>): RoleDifference {
  const privilegesOfRole = new Map(roles.map(({ name, privileges }) => [name, privileges]));
  const needed = new Map<string, Set<string>>([['/', new Set()]]);
  const passedOn = new Set(acl.filter(({ propagate }) => propagate).map(({ path }) => path));
  for (const { path, role } of acl) {
    needed.set(path, new Set([...(needed.get(path) ?? []), ...(privilegesOfRole.get(role) ?? [])]));
  }
  const missing: PathPrivileges[] = [];
  const tooMuch: PathPrivileges[] = [];
  for (const [path, privileges] of needed) {
    const there = granted.on(path);
    const isThere = (privilege: string) => (passedOn.has(path) ? there.get(privilege) === true : there.has(privilege));
    const lacking = [...privileges].filter((privilege) => !isThere(privilege)).sort();
    const spare = [...there.keys()].filter((privilege) => !privileges.has(privilege)).sort();
    if (lacking.length > 0) missing.push({ path, privileges: lacking });
    if (spare.length > 0) tooMuch.push({ path, privileges: spare });
  }
  return { missing, tooMuch };
}
