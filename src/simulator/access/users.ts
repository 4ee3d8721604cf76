/** Finding users and tokens, with the server's words where there is none or it may not be used. */
import { nowSeconds, type Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { ApiToken, User, World } from '../world/world.ts';
import { joinTokenName, parseUserName, verifyUserName } from './ids.ts';

/** Rule [source AC AccessControl.pm check_user_exist]: an ill-formed name has its own text. */
export function requireUser(world: World, userid: string): User {
  verifyUserName(userid);
  const user = world.access.users.get(userid);
  if (!user) throw dieFault(`no such user ('${userid}')`);
  return user;
}

export function findUser(world: World, userid: string): User | undefined {
  return parseUserName(userid) && world.access.users.get(userid);
}

/** Rule [source AC AccessControl.pm check_user_enabled]: enabled, and not past the second of expiry. */
export function isUsable(runtime: Runtime, user: User): boolean {
  return user.enable && !isExpired(runtime, user.expire);
}

/** Rule [source AC AccessControl.pm check_token_exist]. */
export function requireToken(world: World, userid: string, tokenid: string): ApiToken {
  requireUser(world, userid);
  const token = findToken(world, userid, tokenid);
  if (!token) throw dieFault(`no such token '${tokenid}' for user '${userid}'`);
  return token;
}

export function findToken(world: World, userid: string, tokenid: string): ApiToken | undefined {
  return world.access.tokens.get(joinTokenName(userid, tokenid));
}

export function tokensOf(world: World, userid: string): ApiToken[] {
  return [...world.access.tokens.values()]
    .filter((token) => token.userid === userid)
    .sort((a, b) => (a.tokenid < b.tokenid ? -1 : 1));
}

export function isExpired(runtime: Runtime, expireSeconds: number): boolean {
  return expireSeconds > 0 && expireSeconds < nowSeconds(runtime);
}
