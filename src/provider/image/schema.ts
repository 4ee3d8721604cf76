/** The schema of `proxwright_image`: the field table of an image, for one node instead of several. */
import { imageFieldsSchema } from '../../kinds/image/fields.ts';
import { asArguments } from '../configure/arguments.ts';
import type { Subject } from '../run/outcome.ts';
import { type TimeoutWords, timeoutsAttribute } from '../run/timeouts.ts';
import { attributesOfFields } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { groupShape } from '../schema/shape.ts';

const fields = imageFieldsSchema.omit({ nodes: true });

export const IMAGE_SHAPE = groupShape(fields);

export const TIMEOUTS: TimeoutWords = {
  image: 'Fetching or sending it.',
  lock: 'All waiting for locks of one act.',
};

const node: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'required',
  description: 'The node whose storage gets it; of a storage that is shared, the node that does the work.',
};

/** The user gives everything but the name in the storage, which follows from where the image comes from. */
function userArguments(): Attributes {
  return Object.fromEntries(
    Object.entries(asArguments(attributesOfFields(fields))).map(([name, attribute]) => [
      name,
      name === 'file' ? { ...attribute, given: 'optional-computed' } : attribute,
    ]),
  );
}

export const USER_ATTRIBUTES: Attributes = { node, ...userArguments(), timeouts: timeoutsAttribute(TIMEOUTS, 'image') };

const COMPUTED_ATTRIBUTES: Attributes = {
  id: {
    type: { kind: 'value', type: 'string' },
    given: 'computed',
    description:
      'The volume that it is: `local:import/noble.qcow2`. A disk is made from it by `import_from`, a CD drive holds it by `iso`.',
  },
  size_bytes: {
    type: { kind: 'value', type: 'number' },
    given: 'computed',
    description: 'Its size in the storage.',
  },
};

export const IMAGE_SCHEMA: Schema = {
  version: 0,
  description:
    'A disk image or CD image in a storage: downloaded by Proxmox itself, or sent from here. It is there once and stays as it is; a changed source or checksum brings another one in its place.',
  attributes: { ...USER_ATTRIBUTES, ...COMPUTED_ATTRIBUTES },
};

export const IMAGE: Subject = { noun: 'image', attributes: IMAGE_SCHEMA.attributes };
