/**
 * The effective rights of the token, as roles and entries of the copy. Proxmox lists the privileges on a path,
 * inheritance included, so an entry on each listed path has the same effect: one role that propagates, one for the path
 * alone.
 */
import type { Permissions } from '../../pve/index.ts';
import type { WorldFile } from '../../simulator/index.ts';

/** Not that of the real token: it is valid only for the copy. */
export const COPY_SECRET = '00000000-0000-4000-8000-00000000c09e';

export interface CopiedRights {
  readonly users: NonNullable<WorldFile['users']>;
  readonly roles: NonNullable<WorldFile['roles']>;
  readonly acl: NonNullable<WorldFile['acl']>;
}

export interface RightsInput {
  /** `user@realm!token`, or `user@realm` with a password. */
  readonly principal: string;
  readonly permissions: Permissions;
  /** Guests that the token does not see although their ids are taken. */
  readonly hiddenIds: Iterable<number>;
  /** VNets: they are bridges of the copy, with the rights that the token has on them. */
  readonly vnets: Iterable<string>;
}

export function copiedRights({ principal, permissions, hiddenIds, vnets }: RightsInput): CopiedRights {
  const [userid = '', tokenid] = principal.split('!');
  const isRoot = userid === 'root@pam';
  // A token of root has what its own entries say; any other one what its user may do.
  const owner = tokenid !== undefined && isRoot ? { token: principal } : { user: userid };
  const roles: Record<string, string[]> = {};
  const names = new Map<string, string>();
  const roleOf = (privileges: readonly string[]): string => {
    const key = [...privileges].sort().join(',');
    const name = names.get(key) ?? `Copied${names.size + 1}`;
    names.set(key, name);
    roles[name] = key.split(',');
    return name;
  };
  const entries = (path: string, granted: Readonly<Record<string, boolean>>) => {
    const reaching = Object.keys(granted).filter((privilege) => granted[privilege]);
    const here = Object.keys(granted).filter((privilege) => !granted[privilege]);
    if (reaching.length + here.length === 0) return [{ path, role: 'NoAccess', ...owner, propagate: true }];
    return [
      ...(reaching.length > 0 ? [{ path, role: roleOf(reaching), ...owner, propagate: true }] : []),
      ...(here.length > 0 ? [{ path, role: roleOf(here), ...owner, propagate: false }] : []),
    ];
  };
  const acl = Object.entries(permissions).flatMap(([path, granted]) => entries(path, granted));
  for (const vnet of vnets) {
    const [, granted] = Object.entries(permissions).find(([path]) => path.endsWith(`/${vnet}`)) ?? [];
    const above = permissions['/sdn/zones'] ?? permissions['/sdn'] ?? permissions['/'] ?? {};
    acl.push(...entries(`/sdn/zones/localnetwork/${vnet}`, granted ?? above));
  }
  for (const vmid of hiddenIds) acl.push({ path: `/vms/${vmid}`, role: 'NoAccess', ...owner, propagate: true });
  const user = tokenid === undefined ? { password: COPY_SECRET } : {};
  const tokens = tokenid === undefined ? {} : { [tokenid]: { secret: COPY_SECRET, privsep: isRoot } };
  return { users: { [userid]: { ...user, tokens } }, roles, acl };
}
