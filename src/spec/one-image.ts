/** An image from outside a stack file, checked by the same field table and the same rules, with the same messages. */

import { invariant } from '../base/assert.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { ResolvedImage } from '../kinds/stack.ts';
import { Findings } from './findings.ts';
import { readImages } from './images.ts';
import { type Located, type LocatedMap, withEntry } from './located.ts';
import { checkRules } from './rules/index.ts';

export interface OneImage {
  /** As far as it could be read. */
  readonly image: ResolvedImage;
  readonly diagnostics: readonly Diagnostic[];
}

export interface OneImageInput {
  readonly name: string;
  /** Without its nodes. Unknown values are not checked. */
  readonly tree: LocatedMap;
  /** The one node that gets it. */
  readonly node: Located;
}

export function checkOneImage({ name, tree, node }: OneImageInput): OneImage {
  const findings = new Findings();
  const nodes: Located = node.kind === 'unknown' ? node : { kind: 'list', items: [node], at: node.at };
  const value = withEntry(tree, 'nodes', { keyAt: node.at, value: nodes });
  const entries = new Map([[name, { keyAt: tree.at, value }]]);
  const images = readImages({ keyAt: {}, value: { kind: 'map', entries, at: {} } }, findings);
  checkRules({ vms: [], images }, findings);
  const image = images.byName?.get(name)?.image;
  invariant(image, `"${name}" is a name for an image.`);
  return { image, diagnostics: findings.list() };
}
