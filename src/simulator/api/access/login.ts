/** /access itself: login (ticket, realms, password) and the permissions of a user. */
import { splitList } from '../../../pve/wire/index.ts';
import { aclNodes, aclTree, notablePaths, permissionsOn, privilegeTest } from '../../access/acl.ts';
import { issueCsrfToken, issueTicket, verifyTicket } from '../../access/authenticate.ts';
import { normalizePath, parseTokenName, ROOT, verifyUserName } from '../../access/names.ts';
import { checkPassword, findUser, isUsable, requireUser, setPassword } from '../../access/users.ts';
import type { CallTo, Routes } from '../../core/call.ts';
import { ApiFault, paramFault, permFault } from '../../http/response.ts';
import type { User, World } from '../../world/world.ts';

export const loginRoutes: Routes = {
  'GET /access/ticket': () => null,
  'POST /access/ticket': createTicket,
  'PUT /access/password': changePassword,
  'GET /access/permissions': readPermissions,
  'GET /access/domains': ({ runtime }) =>
    [...runtime.world.access.realms].map(([realm, { type, comment }]) => ({
      realm,
      type,
      ...(comment === '' ? {} : { comment }),
    })),
  'GET /access': () => SUBDIRECTORIES.map((subdir) => ({ subdir })),
};

function createTicket(call: CallTo<'POST /access/ticket'>): unknown {
  const { params, runtime } = call;
  const { world } = runtime;
  const { realm, path, privs: privileges } = params;
  const userid = params.username + (realm ? `@${realm}` : '');
  const user = findUser(world, userid);
  // Rule [recorded auth-ticket-csrf]: every failure has the same answer, so that users cannot be guessed.
  if (!user || !isUsable(runtime, user) || !isProven(call, user)) throw authenticationFailure();
  const isVerification = path && privileges;
  if (isVerification && !holdsAll(world, userid, path, privileges)) throw authenticationFailure();
  return {
    username: userid,
    ...(isVerification
      ? {}
      : { ticket: issueTicket(runtime, userid), CSRFPreventionToken: issueCsrfToken(runtime, userid) }),
    cap: capabilities(world, userid),
    ...(world.clusterName !== undefined && privilegeTest(world, userid, '/')('Sys.Audit')
      ? { clustername: world.clusterName }
      : {}),
  };
}

/**
 * Rule [source AC API2/AccessControl.pm create_ticket_do, verify_auth]: the user's own ticket is as good as the password;
 * root's ticket makes one for any user, but proves nothing when privileges are to be verified.
 */
function isProven({ params, runtime }: CallTo<'POST /access/ticket'>, user: User): boolean {
  // Second factors are not simulated, so there is never a challenge to answer.
  if (params['tfa-challenge'] !== undefined) return false;
  const secret = params.password;
  const ticketUser = verifyTicket(runtime, secret);
  const isVerification = params.path && params.privs;
  if (ticketUser === user.userid || (ticketUser === ROOT && !isVerification)) return true;
  if (params.otp !== undefined) return false;
  try {
    checkPassword(runtime.world, user, secret);
    return true;
  } catch (error) {
    if (error instanceof ApiFault) return false;
    throw error;
  }
}

function holdsAll(world: World, userid: string, path: string, privileges: string): boolean {
  const normal = normalizePath(path);
  const requested = splitList(privileges);
  return normal !== undefined && requested.length > 0 && requested.every(privilegeTest(world, userid, normal));
}

function authenticationFailure(): ApiFault {
  return new ApiFault(401, 'authentication failure\n');
}

/** Which privileges matter in which part of the interface. */
const CAPABILITY_AREAS: Readonly<Record<string, RegExp>> = {
  vms: /^(VM\.|Permissions\.Modify)/,
  access: /^((User|Group)\.|Permissions\.Modify)/,
  storage: /^(Datastore\.|Permissions\.Modify)/,
  nodes: /^(Sys\.|Permissions\.Modify)/,
  sdn: /^(SDN\.|Permissions\.Modify)/,
  dc: /^(Sys\.Audit|Sys\.Modify|SDN\.)/,
  mapping: /^(Mapping\.|Permissions.Modify)/,
};

const CAPABILITY_PATHS = ['/', '/nodes', '/access/groups', '/vms', '/storage', '/sdn', '/mapping'];

/** Rule [source AC RPCEnvironment.pm compute_api_permission]: what the user has anywhere in each area. */
function capabilities(world: World, userid: string): Record<string, Record<string, 1>> {
  const result = new Map(Object.keys(CAPABILITY_AREAS).map((area) => [area, {} as Record<string, 1>]));
  const grant = (area: string, privilege: string) => {
    const granted = result.get(area);
    if (granted && CAPABILITY_AREAS[area]?.test(privilege)) granted[privilege] = 1;
  };
  const listed = [...aclNodes(aclTree(world.access))].map((node) => node.path);
  for (const path of new Set([...CAPABILITY_PATHS, ...listed])) {
    const top = /^\/(\w+)/.exec(path)?.[1] ?? 'dc';
    // Privileges on a pool apply to its guests and storages.
    const areas = top === 'pool' ? ['vms', 'storage'] : [top];
    for (const privilege of permissionsOn(world, userid, path).keys()) for (const area of areas) grant(area, privilege);
  }
  return Object.fromEntries(result);
}

/**
 * Rule [source AC API2/AccessControl.pm change_password]: every user but root confirms with their own password; only root
 * changes root's password or those of other system users.
 */
function changePassword({ params, runtime, caller }: CallTo<'PUT /access/password'>): void {
  const { world } = runtime;
  const { userid, realm } = verifyUserName(params.userid);
  const user = requireUser(world, userid);
  if (!caller.isRoot) {
    if (userid === ROOT) throw permFault();
    const confirmation = params['confirmation-password'];
    if (confirmation === undefined) {
      throw paramFault({ 'confirmation-password': 'password is required to modify user' });
    }
    checkPassword(world, requireUser(world, caller.userid), confirmation);
    if (userid !== caller.userid && realm === 'pam') throw permFault();
  }
  setPassword(world, user, params.password);
}

function readPermissions(call: CallTo<'GET /access/permissions'>): Record<string, Record<string, number>> {
  const { caller, params, runtime } = call;
  const subject = params.userid ?? caller.authid;
  // Rule [recorded perm-readonly-checks]: a user may query its own tokens, but a token may not query its owner.
  const isOwn = subject === caller.authid || parseTokenName(subject)?.userid === caller.authid;
  if (!isOwn) call.require('/access', ['Sys.Audit']);
  const path = params.path;
  // Rule [recorded perm-readonly-checks]: a requested path is echoed as sent, even if it has no privileges.
  if (path) return { [path]: Object.fromEntries(permissionsOn(runtime.world, subject, path)) };
  const result: Record<string, Record<string, number>> = {};
  for (const each of notablePaths(runtime.world)) {
    const privileges = permissionsOn(runtime.world, subject, each);
    if (privileges.size > 0) result[each] = Object.fromEntries(privileges);
  }
  return result;
}

const SUBDIRECTORIES = ['users', 'groups', 'roles', 'acl', 'domains', 'openid', 'tfa', 'ticket', 'password'];
