/**
 * The provider's own configuration as a field table: how to reach the server and as whom, and how its work is rolled out.
 * The rollout is that of a stack file, without what a run of single resources cannot mean.
 */
import { z } from 'zod';
import { field } from '../../kinds/fields/field.ts';
import { connectionSchema, rolloutSchema } from '../../spec/stack-schema.ts';
import { attributesOfFields } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { asArguments } from './arguments.ts';

const ours = { effect: 'none' } as const;
const { retry, limits, timeouts } = rolloutSchema.shape;

/**
 * Left out: `on_failure`, because the host decides what becomes of the other resources when one fails, and
 * `limits.group_size`, because the host expands groups before a provider sees them.
 */
const rollout = rolloutSchema
  .omit({ on_failure: true })
  .extend({
    retry: retry.unwrap().describe('What happens while somebody else holds a lock.').optional(),
    limits: limits
      .unwrap()
      .omit({ group_size: true })
      .describe('How much happens at once, across all resources of a run and whatever `-parallelism` is.')
      .optional(),
    timeouts: timeouts.unwrap().describe('How long each kind of wait may last; a VM may say otherwise.').optional(),
  })
  .describe('How the work is spread over time and over the cluster.');

export const configurationSchema = z.strictObject({
  endpoint: connectionSchema.shape.endpoint,
  token: field(z.string().min(1).optional(), {
    description:
      'API token, `user@realm!id=secret`; `PROXMOX_VE_API_TOKEN` by default. Better kept out of the configuration: in the environment, in `token_file` or behind `token_command`.',
    secret: true,
    ...ours,
  }),
  token_file: field(z.string().min(1).optional(), { description: 'File that holds the API token.', ...ours }),
  token_command: field(z.array(z.string()).min(1).optional(), {
    description: 'Program and arguments that print the API token.',
    ...ours,
  }),
  fingerprint: connectionSchema.shape.fingerprint,
  ca: field(z.string().min(1).optional(), {
    description:
      'Certificate of the authority that signed the server’s: the path of a PEM file, or PEM text. `PROXMOX_VE_CA_FILE` by default.',
    ...ours,
  }),
  insecure: field(z.boolean().optional(), {
    description:
      'Has no effect but a warning: the certificate is always verified. Pin it by `fingerprint`; a refused certificate brings the line to paste.',
    ...ours,
  }),
  plan_checks: field(z.enum(['error', 'warn', 'off']).default('error'), {
    description: 'What a plan that the server would refuse is: an error, a warning, or not looked for.',
    ...ours,
  }),
  rollout: rollout.optional(),
});

/** A pasted `user:password@host` is kept out of messages, yet an endpoint is no secret. */
function attributes(): Attributes {
  const { endpoint, ...others } = asArguments(attributesOfFields(configurationSchema));
  const { sensitive: _, ...shown } = endpoint ?? {};
  return { endpoint: shown as Attribute, ...others }; // the table has it
}

export const CONFIGURATION_SCHEMA: Schema = {
  version: 0,
  description:
    'Virtual machines on Proxmox VE. Everything may also come from the environment, under the names that bpg/proxmox (`PROXMOX_VE_…`) and Telmate/proxmox (`PM_…`) use.',
  attributes: attributes(),
};
