/** One VM, template or image from outside a stack file, checked by the same field table and rules, with the same messages. */
import { type Address, parseAddress } from '../base/address.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { invariant } from '../base/errors.ts';
import type { ResolvedImage } from '../kinds/image/stack.ts';
import type { ResolvedTemplate } from '../kinds/template/stack.ts';
import { inheriting } from '../kinds/vm/rules/rule.ts';
import type { ResolvedVm } from '../kinds/vm/stack.ts';
import { emptyMap, type Located, type LocatedMap, withEntry } from './located.ts';
import { Findings } from './problems/findings.ts';
import { checkRules } from './rules/index.ts';
import { readImages } from './sections/images.ts';
import { readTemplate } from './sections/templates.ts';
import { parseMember, UNRELATED } from './sections/vm.ts';

export interface OneVm {
  /** Only the readable parts. */
  readonly vm: ResolvedVm;
  /** Whether it has no mistakes and no unknown values. */
  readonly isWhole: boolean;
  readonly diagnostics: readonly Diagnostic[];
}

export interface OneVmInput {
  /** Unknown values are not checked. */
  readonly tree: LocatedMap;
  readonly address: Address;
  /** Whether the VM exists, or may exist, already. If not, it is created from this tree alone. */
  readonly exists: boolean;
}

export function checkOneVm({ tree, address, exists }: OneVmInput): OneVm {
  const findings = new Findings();
  const group = parseAddress(address)?.group ?? address;
  const member = { tree, address, group, number: 1, at: tree.at, formerly: [] };
  const { vm, tainted } = parseMember(member, UNRELATED, findings);
  checkRules({ vms: [{ vm: exists ? inheriting(vm) : vm, tainted }] }, findings);
  return { vm, isWhole: tainted.length === 0, diagnostics: findings.list() };
}

export interface OneTemplate {
  /** Only the readable parts. */
  readonly template: ResolvedTemplate;
  readonly diagnostics: readonly Diagnostic[];
}

export interface OneTemplateInput {
  readonly name: string;
  /** Without its name. Unknown values are not checked. */
  readonly tree: LocatedMap;
}

export function checkOneTemplate({ name, tree }: OneTemplateInput): OneTemplate {
  const findings = new Findings();
  const templates = readTemplate(
    name,
    { keyAt: tree.at, value: tree },
    {
      defaults: emptyMap({}),
      scope: { variables: new Map() },
      images: { byName: new Map(), mentioned: new Set() },
      findings,
    },
  );
  checkRules({ vms: [], templates }, findings);
  const [only] = templates;
  invariant(only, 'A map of fields is one template.');
  return { template: only.template, diagnostics: findings.list() };
}

export interface OneImage {
  /** Only the readable parts. */
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
