/**
 * The permissions of a call before its handler runs: evaluates the declared permission checks with the server's own
 * refusals, and gives handlers `may` and `require`.
 */
import { assertNever } from '../../base/errors.ts';
import { splitList } from '../../pve/wire/index.ts';
import type { Call, Caller } from '../core/call.ts';
import { type ApiFault, permFault } from '../http/response.ts';
import type { PermissionCheck, Permissions, RawParams } from '../schema/types.ts';
import type { World } from '../world/world.ts';
import { privilegeTest } from './acl.ts';
import { normalizePath, parseUserName, verifyUserName } from './names.ts';
import { requireUser } from './users.ts';

type Checkers = Pick<Call, 'may' | 'require'>;

/** Rule [source AC RPCEnvironment.pm check, check_any]: the first missing privilege is named, alternatives all. */
export function makeCheckers(world: World, caller: Caller): Checkers {
  const missingOn = (path: string | undefined, privileges: readonly string[], any: boolean): string | undefined => {
    const holds = privilegeTest(world, caller.authid, path);
    if (!any) return privileges.find((privilege) => !holds(privilege));
    return privileges.some(holds) ? undefined : privileges.join('|');
  };
  return {
    may: (path, privileges, options) => missingOn(path, privileges, options?.any ?? false) === undefined,
    require: (path, privileges, options) => {
      const missing = missingOn(path, privileges, options?.any ?? false);
      if (missing !== undefined) throw permFault(`${path}, ${missing}`);
    },
  };
}

/**
 * Throws unless the caller may make the call. `params` are those of path, query and body before validation: the check
 * comes first, so a caller without rights does not learn whether its parameters were well formed.
 *
 * Rule [source AC RPCEnvironment.pm check_api2_permissions]: only a login of root@pam passes everything; a call that
 * declares nothing is for root alone.
 */
export function checkPermissions(world: World, caller: Caller, permissions: Permissions, params: RawParams): void {
  if (caller.authid === '') {
    if (permissions.user === 'world') return;
    throw permFault('user != null');
  }
  if (caller.isRoot || permissions.user === 'all') return;
  if (permissions.check) {
    evaluate({ world, caller, params }, permissions.check, 'refuse');
    return;
  }
  throw permFault(permissions.user === undefined ? 'user != root@pam' : '');
}

/** Rule [source PM HTTPServer.pm rest_handler]: calls that issue or change credentials need a real login. */
export function tokenNotAllowed(path: string): ApiFault {
  return permFault(`URI '${path}' not available with API token, need proper ticket.\n`);
}

/**
 * Rule [source AC RPCEnvironment.pm check_perm_modify]: a user who may allocate an object may also grant privileges on
 * it.
 */
export function permissionsToModify(path: string): readonly string[] {
  if (/^\/storage\/.+$/.test(path)) return ['Permissions.Modify', 'Datastore.Allocate'];
  if (/^\/vms\/.+$/.test(path)) return ['Permissions.Modify', 'VM.Allocate'];
  if (/^\/pool\/.+$/.test(path)) return ['Permissions.Modify', 'Pool.Allocate'];
  return ['Permissions.Modify'];
}

interface Context {
  readonly world: World;
  readonly caller: Caller;
  readonly params: RawParams;
}

/** `answer`: a failed check is `false`; `refuse`: it throws. Alternatives of `or` use `answer`. */
type Mode = 'answer' | 'refuse';

/** Rule [source AC RPCEnvironment.pm exec_api2_perm_check]. */
function evaluate(context: Context, check: PermissionCheck, mode: Mode): boolean {
  switch (check[0]) {
    case 'and':
      // Rule [source AC RPCEnvironment.pm exec_api2_perm_check]: inside `and` a failure refuses at once, even below `or`.
      for (const part of nested(check)) evaluate(context, part, 'refuse');
      return true;
    case 'or':
      if (nested(check).some((part) => evaluate(context, part, 'answer'))) return true;
      return failed(mode);
    case 'perm': {
      const [, template, privileges, ...options] = check;
      const required = option(options, 'require_param');
      if (required !== undefined && context.params[String(required)] === undefined) return failed(mode);
      const path = normalizePath(fillIn(template, context.params));
      return holdsOn(context, path, privileges, option(options, 'any') === 1, mode);
    }
    case 'userid-param':
      return evaluateUserParam(context, check[1], mode);
    case 'userid-group': {
      const [, privileges, ...options] = check;
      return evaluateUserGroup(context, privileges, option(options, 'groups_param'), mode);
    }
    case 'perm-modify': {
      const path = normalizePath(fillIn(check[1], context.params));
      // An impossible path passes here and is refused by the handler, as a wrong parameter.
      if (path === undefined) return false;
      return holdsOn(context, path, permissionsToModify(path), true, mode);
    }
    default:
      return assertNever(check[0]);
  }
}

function holdsOn(
  context: Context,
  path: string | undefined,
  privileges: readonly string[],
  any: boolean,
  mode: Mode,
): boolean {
  const holds = privilegeTest(context.world, context.caller.authid, path);
  if (any ? privileges.some(holds) : privileges.every(holds)) return true;
  const missing = any ? privileges.join('|') : privileges.find((privilege) => !holds(privilege));
  // Rule [recorded pools]: an impossible path is printed as empty.
  return failed(mode, `${path ?? ''}, ${missing}`);
}

function evaluateUserParam(context: Context, subject: string, mode: Mode): boolean {
  // Rule [recorded perm-tokens-users]: a malformed user name is found here, before validation, and answers 500.
  const user = verifyUserName(textOf(context.params, 'userid'));
  if (subject !== 'self') return holdsOn(context, `/access/realm/${user.realm}`, [subject], false, mode);
  if (!userExists(context.world, user.userid, mode)) return false;
  return context.caller.authid === user.userid || failed(mode);
}

/**
 * Rule [source AC RPCEnvironment.pm exec_api2_perm_check userid-group]: the privilege on all groups, or on every given
 * group, and on one of the user's present groups.
 */
function evaluateUserGroup(
  context: Context,
  privileges: readonly string[],
  groupsParam: string | number | undefined,
  mode: Mode,
): boolean {
  const { world } = context;
  const userid = textOf(context.params, 'userid');
  const mustExist = groupsParam !== 'create';
  if (mustExist && !userExists(world, userid, mode)) return false;
  const mayOn = (path: string) => privileges.some(privilegeTest(world, context.caller.authid, path));
  if (mayOn('/access/groups')) return true;
  if (groupsParam !== undefined) {
    const groups = splitList(textOf(context.params, 'groups'));
    const alternatives = privileges.join('|');
    if (groups.length === 0) throw permFault(`/access/groups, ${alternatives}`);
    for (const group of groups) {
      const path = `/access/groups/${group}`;
      if (!world.access.groups.has(group) || !mayOn(path)) throw permFault(`${path}, ${alternatives}`);
    }
  }
  if (!mustExist) return true;
  const memberships = world.access.users.get(userid)?.groups ?? new Set<string>();
  return [...memberships].some((group) => mayOn(`/access/groups/${group}`)) || failed(mode);
}

function userExists(world: World, userid: string, mode: Mode): boolean {
  if (mode === 'answer') return parseUserName(userid) !== undefined && world.access.users.has(userid);
  return requireUser(world, userid) !== undefined;
}

function failed(mode: Mode, what = ''): false {
  if (mode === 'refuse') throw permFault(what);
  return false;
}

/** Rule [source PC Tools.pm template_replace]: an absent or empty parameter becomes `-`. */
function fillIn(template: string, params: RawParams): string {
  return template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = textOf(params, name);
    return value === '' || value === '0' ? '-' : value;
  });
}

function textOf(params: RawParams, name: string): string {
  const value = params[name];
  return value === undefined || value === null ? '' : String(value);
}

/** Options follow the fixed parts as name, value, name, value. */
function option(options: readonly (string | number)[], name: string): string | number | undefined {
  const position = options.indexOf(name);
  return position < 0 ? undefined : options[position + 1];
}

function nested(check: readonly ['or' | 'and', ...PermissionCheck[]]): readonly PermissionCheck[] {
  const [, ...parts] = check;
  return parts;
}

/**
 * Rule [source AC RPCEnvironment.pm check_vm_perm]: the pool is checked first; a refusal always names the VM's path.
 */
export function checkVmPermission(
  call: Call,
  vmid: number,
  pool: string | undefined,
  privileges: readonly string[],
  options: { any?: boolean } = {},
): void {
  if (pool !== undefined && call.may(`/pool/${pool}`, privileges, options)) return;
  call.require(`/vms/${vmid}`, privileges, options);
}
