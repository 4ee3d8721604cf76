/** /access/users: accounts. Their API tokens are in `tokens.ts`. */

import { splitList } from '../../../pve/wire/index.ts';
import { removeAclEntries } from '../../access/acl-tree.ts';
import { parseUserName, ROOT, verifyUserName } from '../../access/ids.ts';
import { setPassword } from '../../access/passwords.ts';
import { changeUserConfig } from '../../access/user-config.ts';
import { requireUser, tokensOf } from '../../access/users.ts';
import type { CallTo, Routes } from '../../core/call.ts';
import { dieFault } from '../../http/response.ts';
import type { User, World } from '../../world/world.ts';
import { tokenInfo } from './tokens.ts';

export const userRoutes: Routes = {
  'GET /access/users': listUsers,
  'POST /access/users': createUser,
  'GET /access/users/{userid}': readUser,
  'PUT /access/users/{userid}': updateUser,
  'DELETE /access/users/{userid}': deleteUser,
  'GET /access/users/{userid}/tfa': readTfa,
};

const DETAILS = ['firstname', 'lastname', 'email', 'comment', 'keys'] as const;

/** Rule [source AC API2/User.pm index]: oneself, and the users of groups one may look after. A token is not its user. */
function listUsers(call: CallTo<'GET /access/users'>): unknown {
  const { world } = call.runtime;
  const mayLookAfter = (path: string) => call.may(path, ['User.Modify', 'Sys.Audit'], { any: true });
  const seesAll = mayLookAfter('/access/groups');
  const enabled = call.params.enabled;
  const isFull = call.params.full ?? false;
  return [...world.access.users.values()]
    .filter(
      (user) =>
        seesAll ||
        user.userid === call.caller.authid ||
        [...user.groups].some((group) => mayLookAfter(`/access/groups/${group}`)),
    )
    .filter((user) => enabled === undefined || user.enable === enabled)
    .map((user) => {
      const realmType = world.access.realms.get(parseUserName(user.userid)?.realm ?? '')?.type;
      return {
        ...userData(user),
        ...(isFull ? { groups: [...user.groups].sort().join(','), tokens: tokenList(world, user) } : {}),
        ...(realmType === undefined ? {} : { 'realm-type': realmType }),
        userid: user.userid,
      };
    });
}

function readUser(call: CallTo<'GET /access/users/{userid}'>): unknown {
  const { world } = call.runtime;
  const user = requireUser(world, call.params.userid);
  const tokens = tokensOf(world, user.userid);
  return {
    ...userData(user),
    groups: [...user.groups].sort(),
    tokens: tokens.length === 0 ? null : Object.fromEntries(tokens.map((token) => [token.tokenid, tokenInfo(token)])),
  };
}

async function createUser({ params, runtime }: CallTo<'POST /access/users'>): Promise<void> {
  const { world } = runtime;
  await changeUserConfig(runtime, 'create user failed', () => {
    const { userid } = verifyUserName(params.userid);
    if (world.access.users.has(userid)) throw dieFault(`user '${userid}' already exists`);
    const user: User = {
      userid,
      enable: params.enable ?? true,
      expire: params.expire ?? 0,
      details: new Map(),
      groups: new Set(),
      password: undefined,
    };
    const password = params.password;
    if (password !== undefined) setPassword(world, user, password);
    for (const group of groupsGiven(world, params)) user.groups.add(group);
    setDetails(user, params);
    world.access.users.set(userid, user);
  });
}

async function updateUser({ params, runtime }: CallTo<'PUT /access/users/{userid}'>): Promise<void> {
  const { world } = runtime;
  const { userid } = verifyUserName(params.userid);
  await changeUserConfig(runtime, 'update user failed', () => {
    const user = requireUser(world, userid);
    const groups = groupsGiven(world, params);
    user.enable = params.enable ?? user.enable;
    user.expire = params.expire ?? user.expire;
    if (params.groups !== undefined && !params.append) user.groups.clear();
    for (const group of groups) user.groups.add(group);
    setDetails(user, params);
  });
}

/**
 * Rule [source AC API2/User.pm delete_user]: whether the user exists was asked by the permission check, which a real
 * root login skips; deleting nobody is then no error. root@pam always comes back, bare.
 */
async function deleteUser({ params, runtime }: CallTo<'DELETE /access/users/{userid}'>): Promise<void> {
  const { access } = runtime.world;
  const { userid } = verifyUserName(params.userid);
  await changeUserConfig(runtime, 'delete user failed', () => {
    const user = access.users.get(userid);
    access.users.delete(userid);
    for (const token of tokensOf(runtime.world, userid)) access.tokens.delete(`${userid}!${token.tokenid}`);
    removeAclEntries(access, (entry) => entry.kind === 'user' && entry.ugid === userid);
    if (user && userid === ROOT) {
      const bare = { enable: true, expire: 0, details: new Map<string, string>(), groups: new Set<string>() };
      access.users.set(userid, { ...user, ...bare });
    }
  });
}

/** Second factors are not simulated, so nobody has one. */
function readTfa({ params, runtime }: CallTo<'GET /access/users/{userid}/tfa'>): unknown {
  const { realm } = verifyUserName(params.userid);
  if (!runtime.world.access.realms.has(realm)) throw dieFault(`auth domain '${realm}' does not exist`);
  return params.multiple ? { user: [] } : {};
}

/**
 * Rule [source AC AccessControl.pm parse_user_config]: an empty detail is as good as none, except that the mail address
 * shows as empty when something behind it in the line of user.cfg is set (recorded perm-tokens-users).
 */
function userData(user: User): Record<string, string | number> {
  const data: Record<string, string | number> = { enable: user.enable ? 1 : 0, expire: user.expire };
  for (const name of DETAILS) {
    const value = user.details.get(name);
    if (value) data[name] = value;
  }
  if (data.comment !== undefined || data.keys !== undefined) data.email ??= '';
  return data;
}

function tokenList(world: World, user: User): unknown {
  const tokens = tokensOf(world, user.userid);
  return tokens.length === 0 ? null : tokens.map((token) => ({ tokenid: token.tokenid, ...tokenInfo(token) }));
}

function setDetails(user: User, params: { readonly [name in (typeof DETAILS)[number]]?: string }): void {
  for (const name of DETAILS) {
    const value = params[name];
    if (value !== undefined) user.details.set(name, value);
  }
}

function groupsGiven(world: World, params: { readonly groups?: string }): string[] {
  const groups = splitList(params.groups ?? '');
  for (const group of groups) if (!world.access.groups.has(group)) throw dieFault(`no such group '${group}'`);
  return groups;
}
