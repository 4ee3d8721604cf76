/** `proxwright_storages`: the storages as the nodes see them. */
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import type { NodeStorageEntry } from '../../pve/index.ts';
import { type CtyObject, objectOf } from '../cty/value.ts';
import { computed, computedList, type DataSourceDefinition } from './define.ts';
import { argument, nodeArgument } from './filters.ts';
import { blindTo, byText, isOnline, type Look, nodesAt } from './inventory.ts';

const table = z.strictObject({
  node: nodeArgument,
  content: argument(z.string().min(1).optional(), 'Only those that take this kind of content.', {
    examples: ['images', 'iso', 'import', 'snippets'],
  }),
});

export const storages: DataSourceDefinition<typeof table> = {
  description:
    'The storages of a node, or of all nodes that are online; a shared one is listed once for each node that has it.',
  arguments: table,
  results: {
    storages: computedList(
      {
        name: computed('string', 'Its name.'),
        node: computed('string', 'The node that sees it so.'),
        type: computed('string', 'Its kind: `dir`, `lvmthin`, `nfs`, …'),
        content: computed(['list', 'string'], 'Kinds of content it takes.'),
        active: computed('bool', 'Whether it can be used now.'),
        enabled: computed('bool', 'Whether it is meant to be used.'),
        shared: computed('bool', 'Whether all nodes see the same content.'),
        formats: computed(['list', 'string'], 'Formats of disks it can hold.'),
        total_bytes: computed('number', 'Its size; null while it is not active.'),
        available_bytes: computed('number', 'What is free of it; null while it is not active.'),
      },
      'The storages, by node and name.',
    ),
  },
  read: async ({ node, content }, look) => {
    const found = await readStorages(look, node);
    const matching = found.filter(({ row }) => content === undefined || row.content.includes(content));
    return {
      values: { storages: matching.map(({ on, row }) => storageValue(on, row)) },
      warnings: found.length === 0 ? [blindTo('storage', 'Datastore.Audit', '/storage')] : [],
    };
  },
};

interface Placed {
  readonly on: string;
  readonly row: NodeStorageEntry;
}

async function readStorages(look: Look, wanted: string | undefined): Promise<Placed[]> {
  const all = await nodesAt(look, wanted);
  const online = all.filter(isOnline);
  if (wanted !== undefined && online.length === 0) {
    throw new ProxwrightError({
      code: 'UNREACHABLE',
      where: { field: 'node' },
      detail: `Node "${wanted}" is offline, so nobody can say what its storages are.`,
    });
  }
  const lists = await Promise.all(
    online.map(async ({ node }) => {
      const rows = await look.pve.node(node).storages.list({ format: true }, { signal: look.signal });
      return rows.map((row): Placed => ({ on: node, row })).sort((a, b) => byText(a.row.storage, b.row.storage));
    }),
  );
  return lists.flat();
}

function storageValue(node: string, row: NodeStorageEntry): CtyObject {
  const active = row.active ?? false;
  return objectOf([
    ['name', row.storage],
    ['node', node],
    ['type', row.type],
    ['content', [...row.content].sort(byText)],
    ['active', active],
    ['enabled', row.enabled ?? true],
    ['shared', row.shared ?? false],
    ['formats', [...(row.formats?.supported ?? [])].sort(byText)],
    ['total_bytes', active ? (row.total ?? null) : null],
    ['available_bytes', active ? (row.avail ?? null) : null],
  ]);
}
