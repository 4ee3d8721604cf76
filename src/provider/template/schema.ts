/** The schema of `proxwright_template`: the field table of a VM without what a template cannot have, and what makes it one. */
import { z } from 'zod';
import { field } from '../../kinds/fields/field.ts';
import { NOT_OF_TEMPLATES, templateKeysSchema } from '../../spec/stack-schema.ts';
import { asArguments } from '../configure/arguments.ts';
import type { Subject } from '../run/outcome.ts';
import { type TimeoutWords, timeoutsAttribute } from '../run/timeouts.ts';
import { attributesOfFields, VM_SHAPE, vmFieldAttributes, withNested } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { type GroupShape, groupShape } from '../schema/shape.ts';
import { PASSWORD_WRITE_ONLY } from '../vm/schema.ts';

export const TIMEOUTS: TimeoutWords = {
  clone: 'Making it and its disks, and converting it.',
  start: 'Starting it, where it installs itself.',
  lock: 'All waiting for locks of one act.',
};

/** Its name is an attribute here. */
const { name: _, ...REFUSED } = NOT_OF_TEMPLATES;

function withoutRefused<Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !Object.hasOwn(REFUSED, field)));
}

const ownKeys = templateKeysSchema.pick({ from: true, install: true }).extend({
  vmids: field(z.string().min(1).optional(), {
    description:
      'Ids that its versions may have, in place of `vmid`: `9000-9009`. Each version takes the first that is free.',
    effect: 'creation',
  }),
});

/** What is said of the VM that becomes the template, and beside it. */
export const TEMPLATE_SHAPE: GroupShape = {
  ...VM_SHAPE,
  fields: { ...withoutRefused(VM_SHAPE.fields), ...groupShape(ownKeys).fields },
};

const triggers: Attribute = {
  type: { kind: 'value', type: ['map', 'string'] },
  given: 'optional',
  description:
    'What else it is made from. A change builds a new version, as for an image that keeps its name: `{ image = proxwright_image.noble.sha256 }`.',
};

const WORDS: Readonly<Record<string, string>> = {
  name: 'Name of the template; whoever clones it by name gets its newest version.',
  node: 'Where it is made; a changed node makes another one.',
  vmid: 'Id of the template. One that is fixed leaves no room for a new version beside the old one: a changed recipe then replaces the template, which its linked clones prevent. Without it, and without `vmids`, the next free id.',
};

/** In the words of a template. */
function described(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, each]): [string, Attribute] => [
      name,
      { ...each, description: WORDS[name] ?? each.description },
    ]),
  );
}

/** A template never runs: no change takes effect in it, each makes another version. */
const vmAttributes = withNested(vmFieldAttributes({ neverRuns: true }), 'cloud_init', {
  password_wo: PASSWORD_WRITE_ONLY,
});

/** Everything a user may set. */
export const USER_ATTRIBUTES: Attributes = {
  ...described(withoutRefused(vmAttributes)),
  ...asArguments(attributesOfFields(ownKeys)),
  triggers,
  timeouts: timeoutsAttribute(TIMEOUTS, 'template'),
};

function computed(description: string): Attribute {
  return { type: { kind: 'value', type: 'string' }, given: 'computed', description };
}

export const COMPUTED_ATTRIBUTES: Attributes = {
  id: computed('Where it is and its id, as it is imported: `pve1/9000`. Each version has its own.'),
  uuid: computed('With its id its identity: an id alone can be recycled.'),
  recipe: computed('Fingerprint of everything it is made from; another one makes another version.'),
};

export const TEMPLATE_SCHEMA: Schema = {
  version: 0,
  description:
    'A template: made from an image, left to install itself from an ISO, or copied from a VM, and then converted. A changed recipe builds a new version beside the old one, which stays as long as linked clones rest on it.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};

export const TEMPLATE: Subject = { noun: 'template', attributes: TEMPLATE_SCHEMA.attributes };
