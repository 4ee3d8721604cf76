/** /access: the index, and all routes below it. */
import type { Routes } from '../../core/call.ts';
import { aclRoutes } from './acl.ts';
import { domainRoutes } from './domains.ts';
import { groupRoutes } from './groups.ts';
import { passwordRoutes } from './password.ts';
import { permissionRoutes } from './permissions.ts';
import { roleRoutes } from './roles.ts';
import { ticketRoutes } from './ticket.ts';
import { tokenRoutes } from './tokens.ts';
import { userRoutes } from './users.ts';

const SUBDIRECTORIES = ['users', 'groups', 'roles', 'acl', 'domains', 'openid', 'tfa', 'ticket', 'password'];

export const accessRoutes: Routes = {
  'GET /access': () => SUBDIRECTORIES.map((subdir) => ({ subdir })),
  ...aclRoutes,
  ...domainRoutes,
  ...groupRoutes,
  ...passwordRoutes,
  ...permissionRoutes,
  ...roleRoutes,
  ...ticketRoutes,
  ...tokenRoutes,
  ...userRoutes,
};
