/** A configuration of the host as an image the engine can work with. */

import { imageFileName } from '../../kinds/image/file.ts';
import { type FilePlace, placeOf } from '../../kinds/image/steps.ts';
import type { ResolvedImage, Rollout } from '../../kinds/stack.ts';
import { type Located, scalar, unknownAt } from '../../spec/located.ts';
import { checkOneImage } from '../../spec/one-resource.ts';
import { type CtyObject, UNKNOWN } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { readTimeouts } from '../run/timeouts.ts';
import { diagnosticAt, problemAt } from '../values/diagnostics.ts';
import { toFields } from '../values/to-fields.ts';
import { IMAGE_SCHEMA, IMAGE_SHAPE, TIMEOUTS } from './schema.ts';

export interface WantedImage {
  readonly image: ResolvedImage;
  readonly timeouts: Partial<Rollout['timeouts']>;
  /** Undefined while what it depends on is unknown or wrong. */
  readonly place: FilePlace | undefined;
  /** Name in the storage; undefined likewise. */
  readonly file: string | undefined;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: readonly string[];
  readonly problems: readonly ProviderDiagnostic[];
}

/** What the name in the storage follows from, where it is not given. */
const NAMING = ['url', 'path', 'compression'] as const;

export function wantedImage(config: CtyObject): WantedImage {
  const { attributes } = IMAGE_SCHEMA;
  const values = toFields(config, IMAGE_SHAPE);
  const unknown = [...values.unknown, ...(config.node === UNKNOWN ? ['node'] : [])];
  const one = checkOneImage({ name: nameOf(config), tree: values.located, node: nodeOf(config) });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  const { image } = one;
  const isOpen = (names: readonly string[]) => names.some((name) => unknown.includes(name));
  const given = config.file ?? null;
  const file = isOpen(['file', ...(given === null ? NAMING : [])]) || image.file === '' ? undefined : image.file;
  const [node] = image.nodes;
  return {
    image,
    timeouts,
    file,
    place:
      file === undefined || node === undefined || isOpen(['storage', 'content'])
        ? undefined
        : placeOf({ node, file, storage: image.fields.storage, content: image.fields.content }),
    unknown,
    problems: [
      ...values.problems.map(({ path, detail }) => problemAt(path, detail, attributes)),
      ...one.diagnostics.map((diagnostic) => diagnosticAt(diagnostic, attributes)),
      ...problems,
    ],
  };
}

/** An image of the host has no name of its own; in messages it is called as its file. */
function nameOf(config: CtyObject): string {
  const text = (name: string) => (typeof config[name] === 'string' ? { [name]: config[name] } : {});
  const name = imageFileName({ ...text('url'), ...text('path'), ...text('file') });
  return name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '') || 'this';
}

function nodeOf({ node }: CtyObject): Located {
  const at = { field: 'node' };
  return typeof node === 'string' ? scalar(node, at) : unknownAt(at);
}
