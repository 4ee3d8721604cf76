/** `proxwright_storages`: the storages, as the nodes see them. */
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import type { NodeStorageEntry } from '../../pve/index.ts';
import { type CtyObject, objectOf } from '../cty/value.ts';
import { computed } from '../schema/model.ts';
import { computedList, type DataSourceDefinition } from './define.ts';
import { argument, nodeArgument } from './filters.ts';
import { blindTo, byText, isOnline, type Look, nodesAt } from './inventory.ts';

const table = z.strictObject({
  node: nodeArgument,
  content: argument(z.string().min(1).optional(), 'Only storages that accept this content type.', {
    examples: ['images', 'iso', 'import', 'snippets'],
  }),
});

export const storages: DataSourceDefinition<typeof table> = {
  description:
    'The storages of a node, or of all nodes that are online. A shared storage is listed once for each node that has it.',
  arguments: table,
  results: {
    storages: computedList(
      {
        name: computed('string', 'Its name.'),
        node: computed('string', 'The node that reports it.'),
        type: computed('string', 'Its type: `dir`, `lvmthin`, `nfs`, …'),
        content: computed(['list', 'string'], 'Content types that it accepts.'),
        active: computed('bool', 'Whether it is available now.'),
        enabled: computed('bool', 'Whether it is enabled in the configuration of the cluster.'),
        shared: computed('bool', 'Whether all nodes see the same content.'),
        formats: computed(['list', 'string'], 'Disk formats that it supports.'),
        total_bytes: computed('number', 'Its size; null while it is not active.'),
        available_bytes: computed('number', 'Its free space; null while it is not active.'),
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

async function readStorages(look: Look, node: string | undefined): Promise<Placed[]> {
  const all = await nodesAt(look, node);
  const online = all.filter(isOnline);
  if (node !== undefined && online.length === 0) {
    throw new ProxwrightError({
      code: 'UNREACHABLE',
      where: { field: 'node' },
      detail: `Node "${node}" is offline, so its storages cannot be read.`,
    });
  }
  const lists = await Promise.all(
    online.map(async ({ node: on }) => {
      const rows = await look.pve.node(on).storages.list({ format: true }, { signal: look.signal });
      return rows.map((row): Placed => ({ on, row })).sort((a, b) => byText(a.row.storage, b.row.storage));
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
