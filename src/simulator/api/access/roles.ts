/** /access/roles: named sets of privileges. */

import { splitList } from '../../../pve/wire/index.ts';
import { changeUserConfig } from '../../access/user-config.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { Role } from '../../world/world.ts';

export const roleRoutes: Routes = {
  'GET /access/roles': listRoles,
  'POST /access/roles': createRole,
  'GET /access/roles/{roleid}': readRole,
  'PUT /access/roles/{roleid}': updateRole,
  'DELETE /access/roles/{roleid}': deleteRole,
};

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

/** Rule [recorded perm-roles]: the entries that grant it go with the role. */
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
