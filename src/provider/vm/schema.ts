/** The schema of `proxwright_vm`: the field table of a VM, and what only makes sense in a host's configuration. */
import { vmFieldAttributes, withNested } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { COMPUTED_ATTRIBUTES } from './computed.ts';

function optional(type: 'string' | 'bool', description: string): Attribute {
  return { type: { kind: 'value', type }, given: 'optional', description };
}

/** Bounds of single waits, by the name they have in the provider's `rollout.timeouts`. */
export const TIMEOUTS = ['clone', 'start', 'ready', 'shutdown', 'lock'] as const;

const timeouts: Attribute = {
  type: {
    kind: 'nested',
    nesting: 'single',
    attributes: {
      clone: optional('string', 'Making the VM and its disks.'),
      start: optional('string', 'Starting it.'),
      ready: optional('string', 'Waiting until it is ready.'),
      shutdown: optional('string', 'Shutting it down.'),
      lock: optional('string', 'All waiting for locks of one act.'),
    },
  },
  given: 'optional',
  description:
    'How long each wait may last for this VM; what is left out is as the provider’s `rollout.timeouts` says.',
};

/** What configures how the VM is handled here and has no place in the field table. */
const HANDLING: Attributes = {
  timeouts,
  stop_on_destroy: optional('bool', 'Switch the VM off when it is destroyed, instead of shutting it down first.'),
};

const passwordWriteOnly: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'optional',
  description:
    'The password itself; it reaches neither plan nor state. Needs Terraform 1.11 or OpenTofu 1.11; elsewhere use `password`.',
  sensitive: true,
  writeOnly: true,
};

/** Everything a user may set. */
export const USER_ATTRIBUTES: Attributes = {
  ...withNested(vmFieldAttributes(), 'cloud_init', { password_wo: passwordWriteOnly }),
  ...HANDLING,
};

export const VM_SCHEMA: Schema = {
  version: 0,
  description:
    'A virtual machine: cloned from a template, made from an image, or made empty. What the configuration does not mention stays as the template or the server has it.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};
