/** The schema of `proxwright_vm`: the field table of a VM, and what only makes sense in a host's configuration. */

import type { Subject } from '../run/outcome.ts';
import { type TimeoutWords, timeoutsAttribute } from '../run/timeouts.ts';
import { vmFieldAttributes, withNested } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { COMPUTED_ATTRIBUTES } from './computed.ts';

export const TIMEOUTS: TimeoutWords = {
  clone: 'Making the VM and its disks.',
  start: 'Starting it.',
  ready: 'Waiting until it is ready.',
  shutdown: 'Shutting it down.',
  lock: 'All waiting for locks of one act.',
};

/** What configures how the VM is handled here and has no place in the field table. */
const HANDLING: Attributes = {
  timeouts: timeoutsAttribute(TIMEOUTS, 'VM'),
  stop_on_destroy: {
    type: { kind: 'value', type: 'bool' },
    given: 'optional',
    description: 'Switch the VM off when it is destroyed, instead of shutting it down first.',
  },
};

/** Inside `cloud_init`. */
export const PASSWORD_WRITE_ONLY: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'optional',
  description:
    'The password itself; it reaches neither plan nor state. Needs Terraform 1.11 or OpenTofu 1.11; elsewhere use `password`.',
  sensitive: true,
  writeOnly: true,
};

/** Everything a user may set. */
export const USER_ATTRIBUTES: Attributes = {
  ...withNested(vmFieldAttributes(), 'cloud_init', { password_wo: PASSWORD_WRITE_ONLY }),
  ...HANDLING,
};

export const VM_SCHEMA: Schema = {
  version: 0,
  description:
    'A virtual machine: cloned from a template, made from an image, or made empty. What the configuration does not mention stays as the template or the server has it.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};

export const VM: Subject = { noun: 'VM', attributes: VM_SCHEMA.attributes };
