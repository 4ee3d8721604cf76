/** GET /access/permissions: what somebody may do, by path. */
import { notablePaths, permissionsOn } from '../../access/acl.ts';
import { parseTokenName } from '../../access/ids.ts';
import type { CallTo, Routes } from '../../core/call.ts';

export const permissionRoutes: Routes = { 'GET /access/permissions': readPermissions };

function readPermissions(call: CallTo<'GET /access/permissions'>): Record<string, Record<string, number>> {
  const { caller, params, runtime } = call;
  const subject = params.userid ?? caller.authid;
  // Rule [recorded perm-readonly-checks]: one's own tokens may be asked about, but a token may not ask about its owner.
  const isOwn = subject === caller.authid || parseTokenName(subject)?.userid === caller.authid;
  if (!isOwn) call.require('/access', ['Sys.Audit']);
  const path = params.path;
  // Rule [recorded perm-readonly-checks]: a path asked for is echoed as sent, even with nothing on it.
  if (path) return { [path]: Object.fromEntries(permissionsOn(runtime.world, subject, path)) };
  const result: Record<string, Record<string, number>> = {};
  for (const each of notablePaths(runtime.world)) {
    const privileges = permissionsOn(runtime.world, subject, each);
    if (privileges.size > 0) result[each] = Object.fromEntries(privileges);
  }
  return result;
}
