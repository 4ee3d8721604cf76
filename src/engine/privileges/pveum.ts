/** Grants roles: as `pveum` commands for an administrator, or through the API with an administrator's token. */
import { nodeCommand } from '../../base/text/node-command.ts';
import type { Pve } from '../../pve/client.ts';
import type { AclEntry, CallOptions } from '../../pve/index.ts';
import type { RoleSet } from './roles.ts';

export interface Holder {
  /** `user@realm` or `user@realm!token`. */
  readonly principal: string;
  /** Whether a token has privilege separation and needs its own entries. Treated as true if unknown, which does no harm. */
  readonly isSeparated?: boolean;
}

/** `existing`: roles that get more privileges instead of being created. */
export function pveumCommands(
  { roles, acl }: RoleSet,
  holder: Holder,
  existing: ReadonlySet<string> = new Set(),
): string[] {
  return [
    ...roles.map(({ name, privileges }) => {
      const privs = privileges.join(' ');
      return existing.has(name)
        ? nodeCommand('pveum role modify', [name], { append: 1, privs })
        : nodeCommand('pveum role add', [name], { privs });
    }),
    ...acl.map(({ path, role, propagate }) =>
      nodeCommand('pveum acl modify', [path], { ...granteesOf(holder), roles: role, propagate: propagate ? 1 : 0 }),
    ),
  ];
}

/** Who needs an entry: a token with privilege separation has the privileges that both it and its user have. */
export function granteesOf({ principal, isSeparated = true }: Holder): { users?: string; tokens?: string } {
  const [user = principal, token] = principal.split('!');
  return {
    // root@pam has every privilege, unlike its tokens.
    ...(user !== 'root@pam' && { users: user }),
    ...(token !== undefined && isSeparated && { tokens: principal }),
  };
}

/** Commands that remove entries. */
export function pveumRemovals(entries: readonly AclEntry[]): string[] {
  return entries.map(({ path, type, ugid, roleid }) =>
    nodeCommand('pveum acl delete', [path], { [`${type}s` as const]: ugid, roles: roleid }),
  );
}

export interface RoleChange {
  readonly name: string;
  /** All privileges of the role after the change. */
  readonly privileges: readonly string[];
  readonly isNew: boolean;
  readonly gains: readonly string[];
  /** What an existing role has beyond what is needed; kept, because another stack may need it. */
  readonly keeps: readonly string[];
}

/** Without roles that already have everything they need. */
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

/** Creates roles before the entries that refer to them. Existing entries stay. */
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
