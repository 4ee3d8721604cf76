/** `proxwright_permissions`: what the token may do. */
import { z } from 'zod';
import type { Permissions } from '../../pve/index.ts';
import { objectOf } from '../cty/value.ts';
import { computed, type DataSourceDefinition } from './define.ts';
import { argument } from './filters.ts';
import { byText } from './inventory.ts';

const table = z.strictObject({
  path: argument(
    z.string().regex(/^\//, 'a path begins with /').optional(),
    'Only what holds on this path, also where it is inherited: without a path, those that only inherit are not listed.',
    { examples: ['/vms/9000', '/storage/local-lvm'] },
  ),
});

export const permissions: DataSourceDefinition<typeof table> = {
  description: 'What the token in use may do, by path. Everybody may ask this about themselves.',
  arguments: table,
  results: {
    principal: computed('string', 'Who is meant: `user@realm!token`, or `user@realm`.'),
    permissions: computed(['map', ['set', 'string']], 'Privileges by path.'),
    sees_nothing: computed('bool', 'Whether there is no privilege on any path: then all lists are empty.'),
  },
  read: async ({ path }, { pve, signal }) => {
    const all = await pve.access.permissions({}, { signal });
    const wanted = path === undefined ? all : await pve.access.permissions({ path }, { signal });
    return {
      values: {
        principal: pve.principal,
        permissions: objectOf(
          Object.entries(wanted).map(([each, privileges]) => [each, Object.keys(privileges).sort(byText)]),
        ),
        sees_nothing: isNothing(all) && isNothing(wanted),
      },
    };
  },
};

function isNothing(permissions: Permissions): boolean {
  return Object.values(permissions).every((privileges) => Object.keys(privileges).length === 0);
}
