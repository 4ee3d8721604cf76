/**
 * The provider's own configuration as a field table: how to reach the server, with which credentials, and how to pace
 * the work. The rollout is that of a stack file, without settings that do not apply to single resources.
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
 * Left out: `on_failure` and `update`, because the host decides what happens to the other resources when one fails and how
 * resources are replaced, and `limits.group_size`, because the host expands groups before a provider gets them.
 */
const rollout = rolloutSchema
  .omit({ on_failure: true, update: true })
  .extend({
    retry: retry.unwrap().describe('How to wait while another client holds a lock.').optional(),
    limits: limits
      .unwrap()
      .omit({ group_size: true })
      .describe('Concurrency limits across all resources of a run, independent of `-parallelism`.')
      .optional(),
    timeouts: timeouts.unwrap().describe('How long each kind of wait may take. A resource may override it.').optional(),
  })
  .describe('How Proxwright paces its work on the cluster.');

export const configurationSchema = z.strictObject({
  endpoint: connectionSchema.shape.endpoint,
  token: field(z.string().min(1).optional(), {
    description:
      'API token, `user@realm!id=secret`; `PROXMOX_VE_API_TOKEN` by default. Prefer to keep it out of the configuration: use the environment, `token_file` or `token_command`.',
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
      'Certificate of the authority that signed the certificate of the server: the path of a PEM file, or PEM text. `PROXMOX_VE_CA_FILE` by default.',
    ...ours,
  }),
  insecure: field(z.boolean().optional(), {
    description:
      'Only causes a warning: the certificate is always verified. Pin it with `fingerprint`; the error for a refused certificate shows the line to paste.',
    ...ours,
  }),
  plan_checks: field(z.enum(['error', 'warn', 'off']).default('error'), {
    description:
      'How to report a plan that the server would refuse: as an error or as a warning; `off` skips the checks.',
    ...ours,
  }),
  rollout: rollout.optional(),
});

/** Messages must not show a pasted `user:password@host`, but an endpoint is not a secret. */
function attributes(): Attributes {
  const { endpoint, ...others } = asArguments(attributesOfFields(configurationSchema));
  const { sensitive: _, ...shown } = endpoint ?? {};
  return { endpoint: shown as Attribute, ...others }; // the table has an endpoint
}

export const CONFIGURATION_SCHEMA: Schema = {
  version: 0,
  description:
    'Virtual machines on Proxmox VE. The connection can also come from the environment, with the variable names of bpg/proxmox (`PROXMOX_VE_…`) and Telmate/proxmox (`PM_…`).',
  attributes: attributes(),
};
