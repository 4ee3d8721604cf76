/** Finds users and tokens and checks passwords, with the server's messages if one is missing, disabled or wrong. */
import { nowSeconds, type Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { ApiToken, User, World } from '../world/world.ts';
import { joinTokenName, parseUserName, ROOT, verifyUserName } from './names.ts';

/** Rule [source AC AccessControl.pm check_user_exist]: a malformed name has its own message. */
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

/**
 * Throws with the realm's own message if the password is wrong; only realms that keep passwords here can accept one.
 */
export function checkPassword(world: World, user: User, password: string): void {
  switch (realmTypeOf(world, user)) {
    case 'pve':
      // Rule [source AC Auth/PVE.pm authenticate_user].
      if (password === '') throw dieFault('no password');
      if (user.password === undefined) throw dieFault('no password set');
      if (user.password !== password) throw dieFault('invalid credentials');
      return;
    case 'pam':
      // Rule [source AC Auth/PAM.pm authenticate_user]: the messages are those of PAM.
      if (password === '') throw dieFault('no password');
      if (user.password !== password) throw dieFault('Authentication failure');
      return;
    default:
      // Rule [assumed]: directory servers are not simulated and answer nothing.
      throw dieFault('invalid credentials');
  }
}

export function setPassword(world: World, user: User, password: string): void {
  // Rule [assumed]: root is the only account of the operating system, and usermod refuses the others.
  if (realmTypeOf(world, user) === 'pam' && user.userid !== ROOT) {
    throw dieFault(`change password failed: user '${verifyUserName(user.userid).name}' does not exist`);
  }
  user.password = password;
}

/** Rule [source AC AccessControl.pm domain_set_password]: a user may belong to a realm that does not exist. */
function realmTypeOf(world: World, user: User): string {
  const { realm } = verifyUserName(user.userid);
  const type = world.access.realms.get(realm)?.type;
  if (type === undefined) throw dieFault(`auth domain '${realm}' does not exist`);
  return type;
}
