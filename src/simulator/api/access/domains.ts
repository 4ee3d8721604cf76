/** GET /access/domains: the realms of the login form, open to the world. */
import type { Routes } from '../../core/call.ts';

export const domainRoutes: Routes = {
  'GET /access/domains': ({ runtime }) =>
    [...runtime.world.access.realms].map(([realm, { type, comment }]) => ({
      realm,
      type,
      ...(comment === '' ? {} : { comment }),
    })),
};
