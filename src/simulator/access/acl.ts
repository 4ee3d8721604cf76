/**
 * Evaluates the access control list: who may do what on which path. The list is kept as a tree of paths, so that a
 * check costs a few lookups, however long the list is. Only the tree is cached: a change of a role, group, token or
 * pool counts from the next check on. The functions here that change the list update its tree; if other code has
 * changed the list, the tree is built again.
 */
import type { AccessState, AclEntry, World } from '../world/world.ts';
import { levelsOf, parseTokenName, ROOT } from './names.ts';
import { ADMINISTRATOR, NO_ACCESS } from './privileges.ts';

/** Whether a grant propagates below its path. The entry itself is the grant. */
export type Propagate = 0 | 1;
type Grants = ReadonlyMap<string, Propagate>;

/**
 * The roles that a user or token has on a path from the list itself, without pools.
 *
 * Rule [source AC AccessControl.pm roles]: level by level from the root; entries of the token or user beat those of
 * groups; a level with any applicable entry replaces everything from above; an entry that does not propagate applies on
 * its own path only; NoAccess cancels every other role.
 */
export function rolesOnPath(world: World, authid: string, path: string): Grants {
  const token = parseTokenName(authid);
  if (token) {
    const info = world.access.tokens.get(authid);
    if (!info) return NO_GRANTS;
    if (!info.privsep) return rolesOnPath(world, token.userid, path);
  }
  let roles: Map<string, Propagate> | undefined;
  let node: AclNode | undefined = aclTree(world.access);
  const levels = levelsOf(path);
  let remaining = levels.length;
  for (const level of levels) {
    if (level !== '') node = node?.children.get(level);
    if (!node) break;
    remaining--;
    roles = rolesAtLevel(world, node, authid, remaining === 0) ?? roles;
  }
  const noAccess = roles?.get(NO_ACCESS);
  return noAccess === undefined ? (roles ?? NO_GRANTS) : new Map([[NO_ACCESS, noAccess]]);
}

/**
 * Privilege → whether it propagates.
 *
 * Rule [source AC RPCEnvironment.pm permissions]: root@pam has everything everywhere; a token without privilege
 * separation has what its user has; one with separation has what both have. Whether the user is enabled does not
 * matter here, only at login.
 */
export function permissionsOn(world: World, authid: string, path: string | undefined): Map<string, Propagate> {
  if (authid === ROOT) return new Map([...everyPrivilege(world)].map((privilege) => [privilege, 1]));
  if (path === undefined) return new Map();
  const token = parseTokenName(authid);
  if (!token) return privilegesOf(world, rolesWithPools(world, authid, path));
  const info = world.access.tokens.get(authid);
  if (!info) return new Map();
  const owner = permissionsOn(world, token.userid, path);
  if (!info.privsep) return owner;
  const own = privilegesOf(world, rolesWithPools(world, authid, path));
  if (token.userid === ROOT) return own;
  const common = new Map<string, Propagate>();
  for (const [privilege, propagate] of own) {
    const ownerPropagate = owner.get(privilege);
    if (ownerPropagate !== undefined) common.set(privilege, ownerPropagate && propagate);
  }
  return common;
}

/** A quick test for privileges on one path: the same answer as `permissionsOn(…).has(…)` without building the map. */
export function privilegeTest(world: World, authid: string, path: string | undefined): (privilege: string) => boolean {
  if (authid === ROOT) return (privilege) => everyPrivilege(world).has(privilege);
  if (path === undefined) return never;
  const token = parseTokenName(authid);
  if (!token) return anyRoleHas(world, rolesWithPools(world, authid, path));
  const info = world.access.tokens.get(authid);
  if (!info) return never;
  const owner = privilegeTest(world, token.userid, path);
  if (!info.privsep) return owner;
  const own = anyRoleHas(world, rolesWithPools(world, authid, path));
  return (privilege) => own(privilege) && owner(privilege);
}

/** The paths to show when a client asks for all permissions. */
export function notablePaths(world: World): Set<string> {
  // Rule [source AC RPCEnvironment.pm get_effective_permissions]: the top paths, every path of the list and the ones
  // between, and the members of pools; paths that merely inherit are not listed.
  const paths = new Set(['/', '/access', '/access/groups', '/nodes', '/pool', '/sdn', '/storage', '/vms']);
  for (const node of aclNodes(aclTree(world.access))) paths.add(node.path);
  for (const pool of world.pools.values()) {
    for (const vmid of pool.vms) paths.add(`/vms/${vmid}`);
    for (const storage of pool.storages) paths.add(`/storage/${storage}`);
  }
  return paths;
}

function rolesAtLevel(
  world: World,
  node: AclNode,
  authid: string,
  isFinal: boolean,
): Map<string, Propagate> | undefined {
  const own =
    applicable(node, 'token', authid, isFinal, undefined) ?? applicable(node, 'user', authid, isFinal, undefined);
  if (own || node.members.group.size === 0) return own;
  let fromGroups: Map<string, Propagate> | undefined;
  for (const groupid of world.access.users.get(authid)?.groups ?? []) {
    if (world.access.groups.has(groupid)) fromGroups = applicable(node, 'group', groupid, isFinal, fromGroups);
  }
  return fromGroups;
}

function applicable(
  node: AclNode,
  kind: 'user' | 'group' | 'token',
  ugid: string,
  isFinal: boolean,
  found: Map<string, Propagate> | undefined,
): Map<string, Propagate> | undefined {
  const entries = node.members[kind].get(ugid);
  if (!entries) return found;
  let result = found;
  for (const [role, entry] of entries) {
    if (!isFinal && !entry.propagate) continue;
    result ??= new Map();
    result.set(role, entry.propagate ? 1 : 0);
  }
  return result;
}

/**
 * Rule [source AC RPCEnvironment.pm compile_acl_path]: members of a pool get the roles of the pool's path on top, never
 * propagating; NoAccess on either side wins.
 */
function rolesWithPools(world: World, authid: string, path: string): Grants {
  const direct = rolesOnPath(world, authid, path);
  if (direct.has(NO_ACCESS) || world.pools.size === 0) return direct;
  const fromPools = poolRoles(world, authid, path);
  if (fromPools.size === 0) return direct;
  if (fromPools.has(NO_ACCESS)) return new Map([[NO_ACCESS, 0]]);
  const roles = new Map(direct);
  for (const role of fromPools) if (!roles.has(role)) roles.set(role, 0);
  return roles;
}

function poolRoles(world: World, authid: string, path: string): Set<string> {
  const roles = new Set<string>();
  const isVm = path.startsWith('/vms/');
  if (!isVm && !path.startsWith('/storage/')) return roles;
  const name = path.slice(path.indexOf('/', 1) + 1);
  const vmid = Number(name);
  for (const pool of world.pools.values()) {
    if (!(isVm ? pool.vms.has(vmid) : pool.storages.has(name))) continue;
    for (const role of rolesOnPath(world, authid, `/pool/${pool.poolid}`).keys()) roles.add(role);
  }
  return roles;
}

function privilegesOf(world: World, roles: Grants): Map<string, Propagate> {
  const privileges = new Map<string, Propagate>();
  for (const [role, propagate] of roles) {
    for (const privilege of world.access.roles.get(role)?.privileges ?? []) {
      privileges.set(privilege, privileges.get(privilege) || propagate);
    }
  }
  return privileges;
}

function anyRoleHas(world: World, roles: Grants): (privilege: string) => boolean {
  return (privilege) => {
    for (const role of roles.keys()) if (world.access.roles.get(role)?.privileges.has(privilege)) return true;
    return false;
  };
}

function everyPrivilege(world: World): ReadonlySet<string> {
  return world.access.roles.get(ADMINISTRATOR)?.privileges ?? new Set();
}

const NO_GRANTS: Grants = new Map();
const never = () => false;

export type AclKind = AclEntry['kind'];

interface AclNode {
  readonly path: string;
  readonly children: Map<string, AclNode>;
  /** Entries on exactly this path: user, group or token id → role → entry. */
  readonly members: Readonly<Record<AclKind, Map<string, Map<string, AclEntry>>>>;
}

interface Arranged {
  readonly root: AclNode;
  entryCount: number;
}

const trees = new WeakMap<AclEntry[], Arranged>();

export function aclTree(access: AccessState): AclNode {
  return arrange(access.acl).root;
}

/** Parents before children, children by name. */
export function* aclNodes(node: AclNode): Generator<AclNode> {
  yield node;
  for (const name of [...node.children.keys()].sort()) {
    const child = node.children.get(name);
    if (child) yield* aclNodes(child);
  }
}

/**
 * Rule [source AC AccessControl.pm write_user_config]: entries of root@pam are never stored.
 */
export function setAclEntry(access: AccessState, entry: AclEntry): void {
  if (entry.kind === 'user' && entry.ugid === ROOT) return;
  const tree = arrange(access.acl);
  const existing = nodeAt(tree.root, entry.path).members[entry.kind].get(entry.ugid)?.get(entry.role);
  if (existing) {
    existing.propagate = entry.propagate;
    return;
  }
  access.acl.push(entry);
  insert(tree, entry);
}

/** Takes out every entry for which `isRemoved` holds. */
export function removeAclEntries(access: AccessState, isRemoved: (entry: AclEntry) => boolean): void {
  const kept = access.acl.filter((entry) => !isRemoved(entry));
  if (kept.length === access.acl.length) return;
  access.acl.length = 0;
  for (const entry of kept) access.acl.push(entry);
  trees.delete(access.acl);
}

/** All entries on the path and below it. */
export function removeAclSubtree(access: AccessState, path: string): void {
  removeAclEntries(access, (entry) => entry.path === path || entry.path.startsWith(`${path}/`));
}

function arrange(acl: AclEntry[]): Arranged {
  const known = trees.get(acl);
  if (known && known.entryCount === acl.length) return known;
  const tree: Arranged = { root: newNode('/'), entryCount: 0 };
  for (const entry of acl) insert(tree, entry);
  trees.set(acl, tree);
  return tree;
}

function insert(tree: Arranged, entry: AclEntry): void {
  const members = nodeAt(tree.root, entry.path).members[entry.kind];
  const roles = members.get(entry.ugid) ?? new Map<string, AclEntry>();
  roles.set(entry.role, entry);
  members.set(entry.ugid, roles);
  tree.entryCount++;
}

function nodeAt(root: AclNode, path: string): AclNode {
  let node = root;
  for (const level of levelsOf(path)) {
    if (level === '') continue;
    const child = node.children.get(level) ?? newNode(node.path === '/' ? `/${level}` : `${node.path}/${level}`);
    node.children.set(level, child);
    node = child;
  }
  return node;
}

function newNode(path: string): AclNode {
  return { path, children: new Map(), members: { user: new Map(), group: new Map(), token: new Map() } };
}
