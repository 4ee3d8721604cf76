/** Carries the smallest roles out with an administrator's token: first what would change, then the change itself. */
import type { Pve } from '../../pve/client.ts';
import type { CallOptions } from '../../pve/index.ts';
import { granteesOf, type Holder } from './pveum.ts';
import type { RoleSet } from './roles.ts';

export interface RoleChange {
  readonly name: string;
  /** All that the role will have. */
  readonly privileges: readonly string[];
  readonly isNew: boolean;
  readonly gains: readonly string[];
  /** What a role that is there has beyond what is needed: kept, because another stack may need it. */
  readonly keeps: readonly string[];
}

/** Roles that have all they need already are left out. */
export async function roleChanges(admin: Pve, { roles }: RoleSet, options?: CallOptions): Promise<RoleChange[]> {
  const there = new Map((await admin.access.roles(options)).map(({ roleid, privs }) => [roleid, new Set(privs)]));
  return roles.flatMap(({ name, privileges }): RoleChange[] => {
    const now = there.get(name);
    if (!now) return [{ name, privileges, isNew: true, gains: privileges, keeps: [] }];
    const gains = privileges.filter((privilege) => !now.has(privilege));
    const keeps = [...now].filter((privilege) => !privileges.includes(privilege)).sort();
    const all = [...privileges, ...keeps].sort();
    return gains.length === 0 ? [] : [{ name, privileges: all, isNew: false, gains, keeps }];
  });
}

/** Roles before the entries that name them; what is there already does no harm. */
export async function grantRoles(
  admin: Pve,
  { acl }: RoleSet,
  changes: readonly RoleChange[],
  holder: Holder,
  options?: CallOptions,
): Promise<void> {
  for (const { name, privileges, isNew } of changes) {
    const privs = privileges.join(' ');
    await (isNew ? admin.access.addRole({ roleid: name, privs }, options) : admin.access.setRole(name, privs, options));
  }
  for (const { path, role, propagate } of acl) {
    await admin.access.modifyAcl({ path, roles: role, propagate, ...granteesOf(holder) }, options);
  }
}
