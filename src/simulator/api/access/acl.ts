/** /access/acl and /access/roles: who has which role on which path, and what each role allows. */
import { splitList } from '../../../pve/wire/index.ts';
import {
  type AclKind,
  aclNodes,
  aclTree,
  type Propagate,
  permissionsOn,
  removeAclEntries,
  setAclEntry,
} from '../../access/acl.ts';
import { permissionsToModify } from '../../access/checks.ts';
import { isAclPath, normalizePath, parseTokenName, verifyUserName } from '../../access/names.ts';
import { NO_ACCESS } from '../../access/privileges.ts';
import { changeUserConfig } from '../../access/user-config.ts';
import { requireToken } from '../../access/users.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { AclEntry, Role, World } from '../../world/world.ts';

export const aclRoutes: Routes = {
  'GET /access/acl': readAcl,
  'PUT /access/acl': updateAcl,
  'GET /access/roles': listRoles,
  'POST /access/roles': createRole,
  'GET /access/roles/{roleid}': readRole,
  'PUT /access/roles/{roleid}': updateRole,
  'DELETE /access/roles/{roleid}': deleteRole,
};

/**
 * Rule [source AC API2/ACL.pm read_acl]: auditors see all of it, others the paths on which they could grant privileges.
 */
function readAcl(call: Call): unknown {
  const mayAudit = call.may('/access', ['Sys.Audit']);
  const entries: AclEntry[] = [];
  for (const node of aclNodes(aclTree(call.runtime.world.access))) {
    const members = Object.values(node.members);
    if (members.every((each) => each.size === 0)) continue;
    if (!mayAudit && !call.may(node.path, permissionsToModify(node.path), { any: true })) continue;
    for (const roles of members.flatMap((each) => [...each.values()])) entries.push(...roles.values());
  }
  return entries.map(({ path, kind, ugid, role, propagate }) => ({
    path,
    type: kind,
    ugid,
    roleid: role,
    propagate: propagate ? 1 : 0,
  }));
}

async function updateAcl(call: CallTo<'PUT /access/acl'>): Promise<void> {
  const { params, runtime, caller } = call;
  const { world } = runtime;
  if (!params.users && !params.groups && !params.tokens) {
    const complaint = "either 'users', 'groups' or 'tokens' is required.";
    throw paramFault({ users: complaint, groups: complaint, tokens: complaint });
  }
  const givenPath = params.path;
  const path = normalizePath(givenPath);
  const isRemoval = params.delete ?? false;
  // Rule [source AC API2/ACL.pm update_acl]: entries on paths that are no longer allowed can still be removed.
  if (path === undefined || (!isRemoval && !isAclPath(path))) {
    throw paramFault({ path: `invalid ACL path '${givenPath}'` });
  }
  await changeUserConfig(runtime, 'ACL update failed', () => {
    const own = permissionsOn(world, caller.authid, path);
    const propagate = params.propagate ?? true;
    const changes: AclEntry[] = [];
    for (const roleid of splitList(params.roles)) {
      const role = world.access.roles.get(roleid);
      if (!role) throw dieFault(`role '${roleid}' does not exist`);
      if (!own.has('Permissions.Modify')) assertMayHandOut(role, own, propagate, isRemoval);
      for (const member of membersGiven(world, call)) changes.push({ path, role: roleid, propagate, ...member });
    }
    for (const change of changes) {
      if (isRemoval) removeAclEntries(world.access, (entry) => isSameEntry(entry, change));
      else setAclEntry(world.access, change);
    }
  });
}

/** Rule [source AC API2/ACL.pm update_acl]: groups are looked up first, then users, then tokens; the first unknown ends it. */
function membersGiven(world: World, { params }: CallTo<'PUT /access/acl'>): { kind: AclKind; ugid: string }[] {
  const groups = splitList(params.groups ?? '').map((groupid) => {
    if (!world.access.groups.has(groupid)) throw dieFault(`group '${groupid}' does not exist`);
    return { kind: 'group' as const, ugid: groupid };
  });
  const users = splitList(params.users ?? '').map((userid) => {
    verifyUserName(userid);
    if (!world.access.users.has(userid)) throw dieFault(`user '${userid}' does not exist`);
    return { kind: 'user' as const, ugid: userid };
  });
  const tokens = splitList(params.tokens ?? '').map((authid) => {
    const name = parseTokenName(authid);
    if (!name) {
      throw dieFault(`'${authid}' is not a valid token ID - not able to split into user and token parts`);
    }
    requireToken(world, name.userid, name.tokenid);
    return { kind: 'token' as const, ugid: authid };
  });
  return [...groups, ...users, ...tokens];
}

/**
 * Rule [source AC API2/ACL.pm update_acl]: without Permissions.Modify a caller may grant only its own privileges, with
 * propagation only if they propagate.
 */
function assertMayHandOut(
  role: Role,
  own: ReadonlyMap<string, Propagate>,
  propagate: boolean,
  isRemoval: boolean,
): void {
  const verb = isRemoval ? 'remove' : 'add';
  const refuse = (rest: string) => paramFault({ role: `Cannot ${verb} role '${role.roleid}' ${rest}` });
  for (const privilege of role.privileges) {
    const ownPropagate = own.get(privilege);
    if (ownPropagate === undefined) throw refuse("- requires 'Permissions.Modify' or superset of privileges.");
    if (propagate && !isRemoval && ownPropagate !== 1) {
      throw refuse("with propagation - requires 'Permissions.Modify' or propagated superset of privileges.");
    }
  }
  if (role.roleid === NO_ACCESS) throw refuse("- requires 'Permissions.Modify'");
}

function isSameEntry(a: AclEntry, b: AclEntry): boolean {
  return a.path === b.path && a.kind === b.kind && a.ugid === b.ugid && a.role === b.role;
}

function listRoles({ runtime }: Call): unknown {
  return [...runtime.world.access.roles.values()].map((role) => ({
    roleid: role.roleid,
    privs: [...role.privileges].sort().join(','),
    special: role.special ? 1 : 0,
  }));
}

function readRole(call: CallTo<'GET /access/roles/{roleid}'>): Record<string, number> {
  const role = requireRole(call);
  return Object.fromEntries([...role.privileges].map((privilege) => [privilege, 1]));
}

async function createRole({ params, runtime }: CallTo<'POST /access/roles'>): Promise<void> {
  const roleid = params.roleid;
  if (/^PVE/i.test(roleid)) {
    throw paramFault({ roleid: "cannot use role ID starting with the (case-insensitive) 'PVE' namespace" });
  }
  const { roles } = runtime.world.access;
  await changeUserConfig(runtime, 'create role failed', () => {
    if (roles.has(roleid)) throw dieFault(`role '${roleid}' already exists`);
    roles.set(roleid, { roleid, privileges: new Set(splitList(params.privs ?? '')), special: false });
  });
}

async function updateRole(call: CallTo<'PUT /access/roles/{roleid}'>): Promise<void> {
  refuseBuiltIn(call, 'modified');
  await changeUserConfig(call.runtime, 'update role failed', () => {
    const role = requireRole(call);
    if (!call.params.append) role.privileges.clear();
    for (const privilege of splitList(call.params.privs ?? '')) role.privileges.add(privilege);
  });
}

/** Rule [recorded perm-roles]: the entries that grant it are removed with the role. */
async function deleteRole(call: CallTo<'DELETE /access/roles/{roleid}'>): Promise<void> {
  refuseBuiltIn(call, 'deleted');
  await changeUserConfig(call.runtime, 'delete role failed', () => {
    call.runtime.world.access.roles.delete(requireRole(call).roleid);
  });
}

/** Rule [recorded perm-roles]: refused before the lock, so without the prefix. */
function refuseBuiltIn({ params, runtime }: Call<{ readonly roleid: string }>, verb: string): void {
  const roleid = params.roleid;
  if (runtime.world.access.roles.get(roleid)?.special) {
    throw dieFault(`auto-generated role '${roleid}' cannot be ${verb}`);
  }
}

function requireRole({ params, runtime }: Call<{ readonly roleid: string }>): Role {
  const roleid = params.roleid;
  const role = runtime.world.access.roles.get(roleid);
  if (!role) throw dieFault(`role '${roleid}' does not exist`);
  return role;
}
