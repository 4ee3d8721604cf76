/** Fields of high availability: whether the cluster's HA manager looks after the VM, and how. */
import { z } from 'zod';
import { block, field, whole } from '../../fields/field.ts';

const tries = (where: string, serverDefault: string) =>
  field(whole(0).optional(), {
    description: `How often the HA manager retries a failed start ${where}.`,
    effect: 'live',
    serverDefault,
  });

const managed = block(() => ({
  state: field(z.enum(['started', 'stopped', 'disabled', 'ignored']).default('started'), {
    description:
      'State that the HA manager enforces. disabled also excludes recovery from a lost node; ignored leaves the VM alone.',
    effect: 'live',
  }),
  max_restart: tries('on its node', '1'),
  max_relocate: tries('on other nodes', '1'),
  group: field(
    z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_-]+$/, 'an HA group is a name of letters, digits, _ and -')
      .optional(),
    { description: 'HA group; only before Proxmox VE 9, which has rules instead.', effect: 'live' },
  ),
  comment: field(
    z
      .string()
      .max(4096)
      .regex(/^\S(.*\S)?$/, 'a comment is one line that neither begins nor ends with a blank')
      .optional(),
    { description: 'A comment of one line.', effect: 'live' },
  ),
}));

export const haFields = z
  .union([
    field(z.literal(false), {
      description: 'With false the VM must not be an HA resource; otherwise set the fields below.',
      effect: 'live',
    }),
    managed,
  ])
  .describe('High availability: the VM as a resource of the HA manager. Needs Sys.Console on /.');

export type HaFields = z.output<typeof haFields>;
