/** Passwords by realm: checking and setting them. */
import { dieFault } from '../http/response.ts';
import type { User, World } from '../world/world.ts';
import { ROOT, verifyUserName } from './ids.ts';

/** Throws with the realm's own words when the password is wrong; only realms that keep passwords here can say yes. */
export function checkPassword(world: World, user: User, password: string): void {
  switch (realmTypeOf(world, user)) {
    case 'pve':
      // Rule [source AC Auth/PVE.pm authenticate_user].
      if (password === '') throw dieFault('no password');
      if (user.password === undefined) throw dieFault('no password set');
      if (user.password !== password) throw dieFault('invalid credentials');
      return;
    case 'pam':
      // Rule [source AC Auth/PAM.pm authenticate_user]: the words are those of PAM.
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
