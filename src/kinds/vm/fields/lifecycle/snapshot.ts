/** Snapshots that an apply takes before it changes a running VM. */
import { z } from 'zod';
import { block, field } from '../../../fields/field.ts';

const detailed = block(() => ({
  when: field(z.enum(['never', 'before_change']).default('before_change'), {
    description: 'When a snapshot is taken.',
    effect: 'none',
  }),
  keep: field(z.number().int().min(1).max(100).default(3), {
    description:
      'How many of these snapshots stay. The oldest ones are deleted after the change; snapshots of other clients, and those of `proxwright snapshot create`, are never deleted.',
    effect: 'none',
  }),
  memory: field(z.boolean().default(false), {
    description: 'Also save the memory. The VM keeps running; the more memory it has, the longer the snapshot takes.',
    effect: 'none',
  }),
}));

export const snapshotFields = z
  .union([
    field(z.enum(['never', 'before_change']), {
      description:
        'before_change takes a snapshot before an apply changes the configuration of the running VM, or restarts it; the newest 3 stay. never is the default. For more, set the fields below.',
      effect: 'none',
    }),
    detailed,
  ])
  .describe('Snapshots that an apply takes before a change. A new, replaced or destroyed VM gets none.');
