/** `proxwright_nodes`: the nodes of the cluster. */
import { z } from 'zod';
import { objectOf } from '../cty/value.ts';
import { computed } from '../schema/model.ts';
import { computedList, type DataSourceDefinition } from './define.ts';
import { argument } from './filters.ts';
import { isOnline, readNodes } from './inventory.ts';

const table = z.strictObject({
  online: argument(z.boolean().optional(), 'Only nodes that are online, or only nodes that are not.'),
});

/** Load and free memory are left out: they change all the time, and every plan would show it. */
export const nodes: DataSourceDefinition<typeof table> = {
  description: 'The nodes of the cluster, by name.',
  arguments: table,
  results: {
    names: computed(['list', 'string'], 'Their names.'),
    nodes: computedList(
      {
        name: computed('string', 'Its name.'),
        online: computed('bool', 'Whether it is online.'),
        cpus: computed('number', 'Number of CPU threads; null without `Sys.Audit` on the node.'),
        memory_bytes: computed('number', 'Its memory; null without `Sys.Audit` on the node.'),
        fingerprint: computed('string', 'SHA-256 fingerprint of its certificate.'),
      },
      'The nodes.',
    ),
  },
  read: async ({ online }, look) => {
    const found = (await readNodes(look)).filter((node) => online === undefined || isOnline(node) === online);
    return {
      values: {
        names: found.map(({ node }) => node),
        nodes: found.map((entry) =>
          objectOf([
            ['name', entry.node],
            ['online', isOnline(entry)],
            ['cpus', entry.maxcpu ?? null],
            ['memory_bytes', entry.maxmem ?? null],
            ['fingerprint', entry.ssl_fingerprint ?? null],
          ]),
        ),
      },
    };
  },
};
