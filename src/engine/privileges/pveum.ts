/** Roles and entries as the commands that an administrator types on a node. Pure. */
import type { AclEntry } from '../../pve/index.ts';
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

/** Who has to get an entry: a token with privilege separation has what both it and its owner have. */
export function granteesOf({ principal, isSeparated = true }: Holder): { users?: string; tokens?: string } {
  const [user = principal, token] = principal.split('!');
  return {
    // root@pam has every privilege; its tokens have not.
    ...(user !== 'root@pam' && { users: user }),
    ...(token !== undefined && isSeparated && { tokens: principal }),
  };
}

function holderOptions(holder: Holder): string {
  const { users, tokens } = granteesOf(holder);
  const owner = users === undefined ? [] : [`--users ${quoted(users)}`];
  const own = tokens === undefined ? [] : [`--tokens ${quoted(tokens)}`];
  return [...owner, ...own].join(' ');
}

/** Commands that take entries away again. */
export function pveumRemovals(entries: readonly AclEntry[]): string[] {
  return entries.map(
    ({ path, type, ugid, roleid }) => `pveum acl delete ${path} --${type}s ${quoted(ugid)} --roles ${roleid}`,
  );
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
