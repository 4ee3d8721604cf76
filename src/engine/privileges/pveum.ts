/** Roles and entries as the commands that an administrator types on a node. Pure. */
import type { RoleSet } from './roles.ts';

export interface Holder {
  /** `user@realm` or `user@realm!token`. */
  readonly principal: string;
  /** Of a token: whether it needs entries of its own. Unknown counts as yes, which does no harm where it is no. */
  readonly isSeparated?: boolean;
}

/** `existing`: roles that are there already get more privileges instead of being made. */
export function pveumCommands(
  { roles, acl }: RoleSet,
  holder: Holder,
  existing: ReadonlySet<string> = new Set(),
): string[] {
  return [
    ...roles.map(({ name, privileges }) => {
      const list = `--privs "${privileges.join(' ')}"`;
      return existing.has(name) ? `pveum role modify ${name} --append 1 ${list}` : `pveum role add ${name} ${list}`;
    }),
    ...acl.map(
      ({ path, role, propagate }) =>
        `pveum acl modify ${path} ${holderOptions(holder)} --roles ${role} --propagate ${propagate ? 1 : 0}`,
    ),
  ];
}

/** A token with privilege separation has what both it and its owner have. */
function holderOptions({ principal, isSeparated = true }: Holder): string {
  const [user = principal, token] = principal.split('!');
  // root@pam has every privilege; its tokens have not.
  const owner = user === 'root@pam' ? [] : [`--users ${quoted(user)}`];
  const own = token === undefined || !isSeparated ? [] : [`--tokens ${quoted(principal)}`];
  return [...owner, ...own].join(' ');
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
