/** The schema of `proxwright_vm`: the field table of a VM, what only a host's configuration has, and what the server fills in. */
import type { Subject } from '../../adapter/outcome.ts';
import { type TimeoutWords, timeoutsAttribute } from '../../adapter/timeouts.ts';
import type { CtyType } from '../../cty/value.ts';
import { withNested } from '../../schema/from-fields.ts';
import { type Attribute, type Attributes, computed, type Schema } from '../../schema/model.ts';
import { vmFieldAttributes } from './shape.ts';

export const TIMEOUTS: TimeoutWords = {
  clone: 'Creating the VM and its disks.',
  start: 'Starting the VM.',
  ready: 'Waiting until the VM is ready.',
  shutdown: 'Shutting the VM down.',
  lock: 'Waiting for locks, in total for one step.',
};

/** How the VM is handled here. The field table has no place for it. */
const HANDLING: Attributes = {
  timeouts: timeoutsAttribute(TIMEOUTS, 'VM'),
  stop_on_destroy: {
    type: { kind: 'value', type: 'bool' },
    given: 'optional',
    description: 'Power the VM off when it is destroyed, instead of shutting it down first.',
  },
  update_group: {
    type: { kind: 'value', type: 'string' },
    given: 'optional',
    description:
      'Group of interchangeable VMs. Of the VMs with the same value, at most `max_unavailable` are restarted at once in one run, each until it is ready again; once one has not become ready, the others stay as they are. VMs without it form one group.',
  },
  max_unavailable: {
    type: { kind: 'value', type: 'number' },
    given: 'optional',
    description:
      'How many VMs of the `update_group` may be unavailable at once because of restarts in place. 1 by default. Terraform itself decides about replacements.',
  },
};

/** Inside `cloud_init`. */
export const PASSWORD_WRITE_ONLY: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'optional',
  description:
    'The password itself; it is stored neither in the plan nor in the state. Needs Terraform 1.11 or OpenTofu 1.11; with older versions use `password`.',
  sensitive: true,
  writeOnly: true,
};

/** A stack file has `nodes` and `placement` as well, so users look for them here: the text names the equivalent. */
const NODE: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'required',
  description:
    'Node of the VM; a changed node migrates it. There is no `nodes` and no `placement` here: to have nodes chosen, use the data source `proxwright_placement`.',
};

/** Everything a user may set. */
export const USER_ATTRIBUTES: Attributes = {
  ...withNested(vmFieldAttributes(), 'cloud_init', { password_wo: PASSWORD_WRITE_ONLY }),
  node: NODE,
  ...HANDLING,
};

/** Not nested: OpenTofu 1.10 crashes when it generates configuration for a resource with a nested attribute that is only computed. */
function computedMap(object: Readonly<Record<string, CtyType>>, description: string): Attribute {
  return computed(['map', ['object', object]], description);
}

export const COMPUTED_ATTRIBUTES: Attributes = {
  id: computed(
    'string',
    'The uuid of the VM. Together with the vmid it identifies the VM: a vmid alone can be reused.',
  ),
  current_node: computed('string', 'The node that the VM is on now. Another client may have migrated it.'),
  status: computed('string', '`running` or `stopped`, as of the last refresh.'),
  macs: computed(['map', 'string'], 'MAC addresses by network slot.'),
  addresses: computed(
    ['map', ['list', 'string']],
    'IP addresses by network slot, the preferred one first: as the guest reported them during the last wait for readiness, or as configured.',
  ),
  primary_address: computed('string', 'The address to connect to; null while none is known.'),
  all_disks: computedMap(
    { kind: 'string', storage: 'string', size: 'string', volume: 'string' },
    'Every drive of the VM, by slot, including those that the configuration does not mention: its `kind` (`disk`, `cdrom` or `cloud-init`), `storage` and `size`, and its `volume` as Proxmox names it.',
  ),
  all_nics: computedMap(
    { model: 'string', mac: 'string', bridge: 'string', vlan: 'number' },
    'Every network card of the VM, by slot, including those that the configuration does not mention: the `model` that the guest sees, its `mac` address, `bridge` and `vlan` tag.',
  ),
  restart_pending: computed(['list', 'string'], 'Attributes whose new value takes effect after a restart.'),
  secrets_digest: computed('string', 'Changes when a secret of the VM changes. It does not reveal the value.'),
};

export const VM_SCHEMA: Schema = {
  version: 0,
  description:
    'A virtual machine: cloned from a template, created from an image, or created empty. Settings that the configuration does not mention stay as the template or the server has them.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};

export const VM: Subject = {
  noun: 'VM',
  attributes: VM_SCHEMA.attributes,
  newIdentity: 'another name, or a different vmid',
};

/** Attribute → computed attributes that its change makes unknown until apply. */
const UNSETTLED_BY: Readonly<Record<string, readonly string[]>> = {
  disks: ['all_disks'],
  efi: ['all_disks'],
  tpm: ['all_disks'],
  cloud_init: ['all_disks', 'secrets_digest'],
  nics: ['all_nics', 'macs', 'addresses', 'primary_address'],
  node: ['current_node'],
  power: ['status'],
};

export function unsettledBy(changed: readonly string[]): ReadonlySet<string> {
  if (changed.length === 0) return new Set();
  return new Set(['restart_pending', ...changed.flatMap((name) => UNSETTLED_BY[name] ?? [])]);
}
