/** Reads `images:`: which file belongs in which storage, and which disks use it. */
import { type Address, addressOf } from '../../base/address.ts';
import { imageFieldsSchema } from '../../kinds/image/fields.ts';
import { imageFileName, imageVolid } from '../../kinds/image/file.ts';
import type { ResolvedImage } from '../../kinds/image/stack.ts';
import { sourceVolumes } from '../../kinds/vm/config/disks.ts';
import { describeKind, type Entry, emptyMap, type Path, positionsOf } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { parseTolerantly, report } from '../problems/issues.ts';
import { salvage } from '../problems/salvage.ts';
import { imageNameSchema } from '../stack-schema.ts';
import { namedParts } from './sections.ts';
import type { Candidate } from './vm.ts';

/** The readable part of an image. */
export interface ImageCandidate {
  /** `nodes` are those in the file; the nodes of its users are added later. */
  readonly image: ResolvedImage;
  /** Paths with a mistake or an unknown value. */
  readonly tainted: readonly Path[];
  /** Nodes of the VMs and templates that use it. */
  readonly users: Set<string>;
  /** VMs that use it and whose node the plan chooses. */
  readonly chosen: Set<Address>;
}

export interface Images {
  /** The images that disks may use; undefined if the section could not be read, so that none is reported as missing. */
  readonly byName: ReadonlyMap<string, ImageCandidate> | undefined;
  /** Images that a disk names, even if the disk's node is not known. */
  readonly mentioned: Set<string>;
}

const PLACEHOLDERS = { content: 'import', storage: 'unknown' };

/** Expects every reference in `entry` to be replaced. */
export function readImages(entry: Entry | undefined, findings: Findings): Images {
  const names = { schema: imageNameSchema, word: 'image' };
  const parts = namedParts('images', entry, names, findings);
  if (entry && entry.value.kind !== 'map') return { byName: undefined, mentioned: new Set() };
  const byName = new Map(parts.map(([name, part]) => [name, readImage(name, part, findings)]));
  return { byName, mentioned: new Set() };
}

function readImage(name: string, { keyAt, value }: Entry, findings: Findings): ImageCandidate {
  const address = addressOf('image', name);
  const isUsable = value.kind === 'map';
  if (!isUsable && value.kind !== 'unknown') {
    findings.add({
      code: 'BAD_VALUE',
      where: value.at,
      detail: `The image "${name}" must be a map of fields; it is ${describeKind(value)}.`,
    });
  }
  const tree = isUsable ? value : emptyMap(keyAt);
  if (isUsable) {
    const context = { subject: 'an image', keyAt, findings, address };
    for (const issue of parseTolerantly(imageFieldsSchema, tree).issues) {
      report(issue, imageFieldsSchema, tree, context);
    }
  }
  const { fields, tainted } = salvage(imageFieldsSchema, tree, PLACEHOLDERS);
  return {
    image: {
      name,
      address,
      fields,
      file: imageFileName(fields),
      nodes: fields.nodes ?? [],
      positions: positionsOf(tree, keyAt),
    },
    tainted: isUsable ? tainted : Object.keys(imageFieldsSchema.shape).map((key) => [key]),
    users: new Set(),
    chosen: new Set(),
  };
}

/** Records the node of a VM or template for the images that its disks use, by image name or by volume. */
export function noteUser({ byName, mentioned }: Images, { vm, tainted }: Candidate): void {
  const volumes = sourceVolumes(vm.fields);
  for (const { image, users, chosen } of byName?.values() ?? []) {
    const own = imageVolid(image.fields.storage, image.fields.content, image.file);
    // The disks inside an archive are named by a path below it.
    if (!volumes.some((volume) => volume === own || volume.startsWith(`${own}/`))) continue;
    mentioned.add(image.name);
    if (vm.placement) chosen.add(vm.address);
    else if (!tainted.some(([first]) => first === 'node')) users.add(vm.fields.node);
  }
}

/** The images with all their nodes, in the order of the file. An image without nodes is currently not needed. */
export function resolvedImages({ byName }: Images): readonly ResolvedImage[] {
  return [...(byName?.values() ?? [])].map(({ image, users, chosen }) => ({
    ...image,
    ...(chosen.size > 0 && { chosenFor: [...chosen] }),
    nodes: [...new Set([...image.nodes, ...users])],
  }));
}
