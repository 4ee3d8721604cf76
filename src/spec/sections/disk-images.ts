/** Replaces `image: NAME` in a disk by the image's volume, before the field table checks the disk. */

import type { Address } from '../../base/address.ts';
import { advice, setting } from '../../base/hint.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { imageVolid } from '../../kinds/image/file.ts';
import {
  describeKind,
  type Entry,
  type Located,
  type LocatedMap,
  quote,
  scalar,
  unknownAt,
  withEntry,
} from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import type { ImageCandidate, Images } from './images.ts';

/** A VM's or template's merged tree with each `image` replaced by `import_from` or `iso`, at the same position. */
export function replaceImages(tree: LocatedMap, address: Address, images: Images, findings: Findings): LocatedMap {
  const disks = tree.entries.get('disks');
  if (disks?.value.kind !== 'map') return tree;
  let replaced = disks.value;
  for (const [slot, disk] of disks.value.entries) {
    if (disk.value.kind !== 'map') continue;
    const given = disk.value.entries.get('image');
    if (!given) continue;
    const image = lookUp(slot, given.value, address, images, findings);
    if (image) images.mentioned.add(image.image.name);
    replaced = withEntry(replaced, slot, { ...disk, value: withVolume(disk.value, given, image, address, findings) });
  }
  return replaced === disks.value ? tree : withEntry(tree, 'disks', { ...disks, value: replaced });
}

function lookUp(
  slot: string,
  node: Located,
  address: Address,
  { byName }: Images,
  findings: Findings,
): ImageCandidate | undefined {
  if (node.kind === 'unknown') return undefined;
  const where = { ...node.at, address };
  if (node.kind !== 'scalar' || node.value === null) {
    findings.add({
      code: 'BAD_VALUE',
      where,
      detail: `"disks.${slot}.image" must be the name of an image under "images"; it is ${describeKind(node)}.`,
    });
    return undefined;
  }
  const name = String(node.value);
  const found = byName?.get(name);
  if (found || !byName) return found;
  findings.add({
    code: 'MISSING_REFERENCE',
    where,
    detail: `There is no image ${quote(name)} under "images".`,
    hint:
      didYouMean(name, byName.keys()) ??
      advice`Add it there, or name a file that is already in a storage: ${setting('import_from', 'local:import/NAME.qcow2')}.`,
  });
  return undefined;
}

/** The disk with a volume instead of its image; an unknown volume if the image has problems. */
function withVolume(
  disk: LocatedMap,
  given: Entry,
  found: ImageCandidate | undefined,
  address: Address,
  findings: Findings,
): LocatedMap {
  const rest = withEntry(disk, 'image', undefined);
  const other = ['import_from', 'iso'].find((key) => rest.entries.has(key));
  if (other !== undefined) {
    findings.add({
      code: 'BAD_VALUE',
      where: { ...given.keyAt, address },
      detail: `"image" and "${other}" cannot be used together: a disk has one source.`,
    });
    return rest;
  }
  const at = given.value.at;
  if (!found || isUnclear(found)) return withEntry(rest, 'import_from', { ...given, value: unknownAt(at) });
  const { fields, file } = found.image;
  if (/\.ova$/.test(file)) {
    findings.add({
      code: 'BAD_VALUE',
      where: { ...at, address },
      detail: `The image "${found.image.name}" is an archive of several files (.ova), not one disk.`,
      hint: advice`Name the disk inside it: ${setting('import_from', `${imageVolid(fields.storage, fields.content, file)}/NAME.vmdk`)}.`,
    });
    return withEntry(rest, 'import_from', { ...given, value: unknownAt(at) });
  }
  const volume = scalar(imageVolid(fields.storage, fields.content, file), at);
  return withEntry(rest, fields.content === 'iso' ? 'iso' : 'import_from', { ...given, value: volume });
}

/** Whether its volume depends on a wrong or unknown value. */
function isUnclear({ image, tainted }: ImageCandidate): boolean {
  const kinds = [
    'content',
    'storage',
    'file',
    ...(image.fields.file === undefined ? ['url', 'path', 'compression'] : []),
  ];
  return image.file === '' || tainted.some(([first]) => kinds.includes(String(first)));
}
