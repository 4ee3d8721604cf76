/** /access/users: accounts and their API tokens. Proxmox shows the secret of a token once, when it creates the token. */
import { randomUuid } from '../../../base/random.ts';
import { splitList } from '../../../pve/wire/index.ts';
import { removeAclEntries } from '../../access/acl.ts';
import { joinTokenName, parseUserName, ROOT, verifyUserName } from '../../access/names.ts';
import { changeUserConfig, storedField } from '../../access/user-config.ts';
import { findToken, requireToken, requireUser, setPassword, tokensOf } from '../../access/users.ts';
import type { Call, CallTo, Routes } from '../../core/call.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { ApiToken, User, World } from '../../world/world.ts';

export const userRoutes: Routes = {
  'GET /access/users': listUsers,
  'POST /access/users': createUser,
  'GET /access/users/{userid}': readUser,
  'PUT /access/users/{userid}': updateUser,
  'DELETE /access/users/{userid}': deleteUser,
  'GET /access/users/{userid}/tfa': readTfa,
  'GET /access/users/{userid}/token': listTokens,
  'GET /access/users/{userid}/token/{tokenid}': readToken,
  'POST /access/users/{userid}/token/{tokenid}': createToken,
  'PUT /access/users/{userid}/token/{tokenid}': updateToken,
  'DELETE /access/users/{userid}/token/{tokenid}': deleteToken,
};

const DETAILS = ['firstname', 'lastname', 'email', 'comment', 'keys'] as const;

/**
 * Rule [source AC API2/User.pm index]: the caller, and the users of groups that the caller may manage. A token is not
 * its user.
 */
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
 * Rule [source AC API2/User.pm delete_user]: the permission check, which a real root login skips, verifies that the
 * user exists; without it, deleting a missing user is no error. root@pam is always recreated, without its settings.
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

/** Second factors are not simulated, so no user has one. */
function readTfa({ params, runtime }: CallTo<'GET /access/users/{userid}/tfa'>): unknown {
  const { realm } = verifyUserName(params.userid);
  if (!runtime.world.access.realms.has(realm)) throw dieFault(`auth domain '${realm}' does not exist`);
  return params.multiple ? { user: [] } : {};
}

/**
 * Rule [source AC AccessControl.pm parse_user_config]: an empty detail is as good as none, except that the mail address
 * shows as empty if a later value in the line of user.cfg is set (recorded perm-tokens-users).
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
    if (value !== undefined) user.details.set(name, storedField(value) ?? '');
  }
}

function groupsGiven(world: World, params: { readonly groups?: string }): string[] {
  const groups = splitList(params.groups ?? '');
  for (const group of groups) if (!world.access.groups.has(group)) throw dieFault(`no such group '${group}'`);
  return groups;
}

interface TokenInfo {
  readonly privsep: number | string;
  readonly expire?: number | string;
  readonly comment?: string;
}

function tokenInfo(token: ApiToken): TokenInfo {
  return {
    privsep: token.privsep ? 1 : 0,
    expire: token.expire,
    ...(token.comment ? { comment: token.comment } : {}),
  };
}

function listTokens({ params, runtime }: CallTo<'GET /access/users/{userid}/token'>): unknown {
  const user = requireUser(runtime.world, params.userid);
  return tokensOf(runtime.world, user.userid).map((token) => ({ tokenid: token.tokenid, ...tokenInfo(token) }));
}

function readToken(call: CallTo<'GET /access/users/{userid}/token/{tokenid}'>): TokenInfo {
  const { userid, tokenid } = namesOf(call);
  return tokenInfo(requireToken(call.runtime.world, userid, tokenid));
}

async function createToken(call: CallTo<'POST /access/users/{userid}/token/{tokenid}'>): Promise<unknown> {
  const { params, texts, runtime } = call;
  const { world } = runtime;
  const { userid, tokenid } = namesOf(call);
  requireUser(world, userid);
  if (findToken(world, userid, tokenid)) throw paramFault({ tokenid: 'Token already exists.' });
  const token: ApiToken = {
    userid,
    tokenid,
    secret: randomUuid(runtime.random),
    privsep: params.privsep ?? true,
    expire: params.expire ?? 0,
    comment: storedField(params.comment ?? ''),
  };
  const authid = joinTokenName(userid, tokenid);
  await changeUserConfig(runtime, 'generating token failed', () => {
    requireUser(world, userid);
    if (world.access.tokens.has(authid)) throw dieFault('Token already exists.');
    world.access.tokens.set(authid, token);
  });
  // Rule [recorded perm-tokens-users]: what was sent is echoed as text, and an expiry only if it was sent.
  const info = {
    privsep: texts.privsep ?? 1,
    ...(texts.expire ? { expire: texts.expire } : {}),
    ...(token.comment ? { comment: token.comment } : {}),
  };
  return { 'full-tokenid': authid, info, value: token.secret };
}

/** Rule [recorded perm-tokens-users]: the answer shows the token, with what was sent as text. */
async function updateToken(call: CallTo<'PUT /access/users/{userid}/token/{tokenid}'>): Promise<unknown> {
  const { params, texts, runtime } = call;
  const { userid, tokenid } = namesOf(call);
  requireToken(runtime.world, userid, tokenid);
  const isRegenerated = params.regenerate ?? false;
  const token = await changeUserConfig(runtime, 'updating token info failed', () => {
    const found = requireToken(runtime.world, userid, tokenid);
    const deleted = splitList(params.delete ?? '');
    const unknown = deleted.find((name) => name !== 'comment');
    if (unknown !== undefined) throw paramFault({ delete: `unknown option '${unknown}'` });
    found.privsep = params.privsep ?? found.privsep;
    found.expire = params.expire ?? found.expire;
    found.comment = deleted.length > 0 ? undefined : storedField(params.comment ?? found.comment ?? '');
    if (isRegenerated) found.secret = randomUuid(runtime.random);
    return found;
  });
  const info = tokenInfo(token);
  return {
    ...info,
    privsep: texts.privsep ?? info.privsep,
    expire: texts.expire ?? info.expire,
    ...(isRegenerated ? { value: token.secret, 'full-tokenid': joinTokenName(userid, tokenid) } : {}),
  };
}

async function deleteToken(call: CallTo<'DELETE /access/users/{userid}/token/{tokenid}'>): Promise<void> {
  const { runtime } = call;
  const { userid, tokenid } = namesOf(call);
  requireToken(runtime.world, userid, tokenid);
  await changeUserConfig(runtime, 'deleting token failed', () => {
    requireToken(runtime.world, userid, tokenid);
    runtime.world.access.tokens.delete(joinTokenName(userid, tokenid));
  });
}

function namesOf({ params }: Call<{ readonly userid: string; readonly tokenid: string }>): {
  userid: string;
  tokenid: string;
} {
  return { userid: verifyUserName(params.userid).userid, tokenid: params.tokenid };
}
