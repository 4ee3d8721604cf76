/** The schema of `proxwright_image`, and a configuration of the host as an image that the engine can work with. */
import { imageFieldsSchema } from '../../../kinds/image/fields.ts';
import { imageFileName } from '../../../kinds/image/file.ts';
import type { ResolvedImage } from '../../../kinds/image/stack.ts';
import { type FilePlace, placeOf } from '../../../kinds/image/steps.ts';
import { type Located, scalar, unknownAt } from '../../../spec/located.ts';
import { checkOneImage } from '../../../spec/one-resource.ts';
import type { DesiredResource } from '../../adapter/kind.ts';
import type { Subject } from '../../adapter/outcome.ts';
import { readTimeouts, type TimeoutWords, timeoutsAttribute } from '../../adapter/timeouts.ts';
import { asArguments } from '../../configure/arguments.ts';
import { type CtyObject, UNKNOWN } from '../../cty/value.ts';
import { attributesOfFields } from '../../schema/from-fields.ts';
import { type Attribute, type Attributes, computed, type Schema } from '../../schema/model.ts';
import { groupShape } from '../../schema/shape.ts';
import { inputProblems } from '../../values/diagnostics.ts';
import { toFields } from '../../values/to-fields.ts';

/** An image of the host is on one node instead of several. */
const fields = imageFieldsSchema.omit({ nodes: true });

export const IMAGE_SHAPE = groupShape(fields);

const TIMEOUTS: TimeoutWords = {
  image: 'Downloading or uploading the image.',
  lock: 'Waiting for locks, in total for one step.',
};

const node: Attribute = {
  type: { kind: 'value', type: 'string' },
  given: 'required',
  description: 'The node whose storage receives the image. On a shared storage: the node that does the work.',
};

/** The name in the storage may be left out: it is derived from the source. */
function userArguments(): Attributes {
  return Object.fromEntries(
    Object.entries(asArguments(attributesOfFields(fields))).map(([name, attribute]) => [
      name,
      name === 'file' ? { ...attribute, given: 'optional-computed' } : attribute,
    ]),
  );
}

export const USER_ATTRIBUTES: Attributes = { node, ...userArguments(), timeouts: timeoutsAttribute(TIMEOUTS, 'image') };

export const IMAGE_SCHEMA: Schema = {
  version: 0,
  description:
    'A disk image or CD image in a storage. Proxmox downloads it, or Proxwright uploads it from here. The file never changes in place; a changed source or checksum replaces it.',
  attributes: {
    ...USER_ATTRIBUTES,
    id: computed(
      'string',
      'The volume of the image: `local:import/noble.qcow2`. Use it as `import_from` of a disk or as `iso` of a CD drive.',
    ),
    size_bytes: computed('number', 'Size of the file in the storage.'),
  },
};

export const IMAGE: Subject = { noun: 'image', attributes: IMAGE_SCHEMA.attributes, newIdentity: 'another name' };

export interface DesiredImage extends DesiredResource {
  readonly image: ResolvedImage;
  /** Undefined while something that it depends on is unknown or wrong. */
  readonly place: FilePlace | undefined;
  /** Name in the storage; undefined in the same cases. */
  readonly file: string | undefined;
}

/** What the name in the storage is derived from, where it is not set. */
const NAMING = ['url', 'path', 'compression'] as const;

export function desiredImage(config: CtyObject): DesiredImage {
  const { attributes } = IMAGE_SCHEMA;
  const values = toFields(config, IMAGE_SHAPE);
  const unknown = [...values.unknown, ...(config.node === UNKNOWN ? ['node'] : [])];
  const { image, diagnostics } = checkOneImage({
    name: nameOf(config),
    tree: values.located,
    node: nodeOf(config),
  });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  const isOpen = (names: readonly string[]) => names.some((name) => unknown.includes(name));
  const isNamed = (config.file ?? null) !== null;
  const file = isOpen(['file', ...(isNamed ? [] : NAMING)]) || image.file === '' ? undefined : image.file;
  const [on] = image.nodes;
  return {
    image,
    timeouts,
    file,
    place:
      file === undefined || on === undefined || isOpen(['storage', 'content'])
        ? undefined
        : placeOf({ node: on, file, storage: image.fields.storage, content: image.fields.content }),
    unknown,
    problems: [...inputProblems(values, diagnostics, attributes), ...problems],
  };
}

/** An image of the host has no separate name; messages use the name of its file. */
function nameOf(config: CtyObject): string {
  const text = (name: string) => (typeof config[name] === 'string' ? { [name]: config[name] } : {});
  const name = imageFileName({ ...text('url'), ...text('path'), ...text('file') });
  return name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '') || 'this';
}

function nodeOf({ node: name }: CtyObject): Located {
  const at = { field: 'node' };
  return typeof name === 'string' ? scalar(name, at) : unknownAt(at);
}

export function hasChecksum({ image: { fields: desired } }: DesiredImage): boolean {
  return (desired.sha256 ?? desired.sha512) !== undefined;
}
