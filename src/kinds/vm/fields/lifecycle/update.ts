/** How a group changes while it runs: how many members may be unavailable at once, and what a failure does to the others. */
import { z } from 'zod';
import { block, duration, field } from '../../../fields/field.ts';

export const updateFields = block(() => ({
  max_unavailable: field(
    z
      .union([
        z.number().int().min(1),
        z.string().regex(/^([1-9]\d?|100)%$/, 'it is a number from 1, or a percentage such as 25%'),
      ])
      .optional(),
    {
      description:
        'How many members of the group may be unavailable at once: a number, or a percentage of the group, rounded down and at least 1. 1 by default.',
      effect: 'none',
      examples: [1, '25%'],
    },
  ),
  pause: field(duration().optional(), {
    description: 'Pause between a member that is ready again and the next one. None by default.',
    effect: 'none',
    examples: ['30s'],
  }),
  on_failure: field(z.enum(['stop', 'continue']).optional(), {
    description:
      'stop (the default) leaves the other members as they are once one has failed; continue changes them as well.',
    effect: 'none',
  }),
  replace: field(z.enum(['never', 'when_template_changes']).optional(), {
    description:
      'when_template_changes replaces a member, with its disks, once clone.template means another template than the member was made from. never is the default: the plan says which members are behind.',
    effect: 'none',
  }),
  order: field(z.enum(['destroy_first', 'create_first']).optional(), {
    description:
      'destroy_first (the default) replaces a member in place: it keeps its ID and addresses. create_first creates the new VM with a spare ID and spare addresses of the ranges, and destroys the old one once the new one is ready.',
    effect: 'none',
  }),
})).describe('How the group changes while it runs. `rollout.update` sets it for all groups.');

export type UpdateFields = z.output<typeof updateFields>;
