/** PUT /access/password: changing a password. Only with a login, never with a token. */
import { ROOT, verifyUserName } from '../../access/ids.ts';
import { checkPassword, setPassword } from '../../access/passwords.ts';
import { requireUser } from '../../access/users.ts';
import type { CallTo, Routes } from '../../core/call.ts';
import { paramFault, permFault } from '../../http/response.ts';

export const passwordRoutes: Routes = { 'PUT /access/password': changePassword };

/**
 * Rule [source AC API2/AccessControl.pm change_password]: everybody but root confirms with the own password; only root
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
