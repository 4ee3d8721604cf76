/** GET /access: what is below it. */
import type { Routes } from '../../core/call.ts';

const SUBDIRECTORIES = ['users', 'groups', 'roles', 'acl', 'domains', 'openid', 'tfa', 'ticket', 'password'];

export const accessRoutes: Routes = {
  'GET /access': () => SUBDIRECTORIES.map((subdir) => ({ subdir })),
};
