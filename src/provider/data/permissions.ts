/** `proxwright_permissions`: what the token may do. */
import { z } from 'zod';
import type { Permissions } from '../../pve/index.ts';
import { objectOf } from '../cty/value.ts';
import { computed } from '../schema/model.ts';
import type { DataSourceDefinition } from './define.ts';
import { argument } from './filters.ts';
import { byText } from './inventory.ts';

const table = z.strictObject({
  path: argument(
    z.string().regex(/^\//, 'a path begins with /').optional(),
    'Only the privileges on this path, including inherited ones. Without a path, paths that only inherit are not listed.',
    { examples: ['/vms/9000', '/storage/local-lvm'] },
  ),
});

export const permissions: DataSourceDefinition<typeof table> = {
  description: 'The privileges of the token in use, by path. This needs no privilege.',
  arguments: table,
  results: {
    principal: computed('string', 'The token or user: `user@realm!token`, or `user@realm`.'),
    permissions: computed(['map', ['set', 'string']], 'Privileges by path.'),
    sees_nothing: computed('bool', 'Whether the token has no privilege on any path. Then all lists are empty.'),
  },
  read: async ({ path }, { pve, signal }) => {
    const all = await pve.access.permissions({}, { signal });
    const shown = path === undefined ? all : await pve.access.permissions({ path }, { signal });
    return {
      values: {
        principal: pve.principal,
        permissions: objectOf(
          Object.entries(shown).map(([each, privileges]) => [each, Object.keys(privileges).sort(byText)]),
        ),
        sees_nothing: isNothing(all) && isNothing(shown),
      },
    };
  },
};

function isNothing(permissions: Permissions): boolean {
  return Object.values(permissions).every((privileges) => Object.keys(privileges).length === 0);
}
