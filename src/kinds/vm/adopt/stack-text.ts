/**
 * The stack file of adopted VMs: a new one, or an existing one with the missing VMs added. Each VM gets an address, and
 * a place in the file for its own values. Pure.
 */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type Scalar,
  stringify,
  visit,
  YAMLMap,
} from 'yaml';
import { type Address, vmAddress } from '../../../base/address.ts';
import { escapedUnsafe, safeJson, visibleLine, visibleText } from '../../../base/text/safe-text.ts';
import { once } from '../../../base/values/once.ts';
import { vmFieldRows } from '../fields/rows.ts';
import { type FoundVm, families, remarksOn } from './families.ts';
import { type GroupLines, groupLines, withDefaults } from './group-lines.ts';
import { addressesIn, addressRanges, idRanges, idsIn } from './ranges.ts';
import { type Leaves, leavesOf, SLOT, type Tree, treeOf } from './shared-values.ts';

type Path = readonly (string | number)[];

export interface Place {
  readonly vm: FoundVm;
  readonly address: Address;
  /** Where a value of this VM alone is written. */
  readonly path: Path;
}

export interface AdoptedText {
  /** Of an existing file. */
  readonly before?: string;
  readonly document: Document;
  readonly places: readonly Place[];
}

export interface NewTextOptions {
  readonly stackName: string;
  /** Whether the VMs get an ownership line. */
  readonly claims: boolean;
  /** Whether a family is larger than a group may be by default. */
  readonly groupLimit: number;
}

export function newStackText(vms: readonly FoundVm[], { stackName, claims, groupLimit }: NewTextOptions): AdoptedText {
  const { defaults, groups } = withDefaults(families(vms, { stackName }).map(groupLines));
  const largest = Math.max(0, ...(vms.length === 0 ? [0] : groups.map(({ family }) => family.members.length)));
  const document = parseDocument(HEAD);
  document.set('stack', stackName);
  if (largest > groupLimit) document.set('rollout', document.createNode({ limits: { group_size: largest } }));
  const common = inOrder(claims ? defaults : new Map([['ownership', 'off'], ...defaults]));
  if (common.size > 0) document.set('defaults', tidied(document.createNode(treeOf(common)), 0));
  const ownership = document.getIn(['defaults', 'ownership'], true);
  if (isScalar(ownership)) ownership.comment = ` ${UNCLAIMED}`;
  document.set('vms', document.createNode({}));
  return { document, places: groups.flatMap((group) => placed(document, group)) };
}

const HEAD = `# yaml-language-server: $schema=./stack.schema.json
# VMs that existed before this file. To see whether the file still describes them: proxwright plan
# "clone" names the template of a VM, if Proxmox shows it. Before Proxwright can create one of the others again,
# say how: with "clone", or with "image" in one of its disks.
version: 1
`;

const UNCLAIMED = 'No line in the notes of the VMs. Remove this, and apply, so that "state recover" finds them.';

/** An existing file with the VMs that it lacks. `declared`: addresses that the file has and the state does not, by name. */
export function extendedText(
  text: string,
  stackName: string,
  vms: readonly FoundVm[],
  declared: ReadonlyMap<string, { readonly address: Address; readonly group: string; readonly number?: number }>,
): AdoptedText {
  const document = parseDocument(text);
  if (!isMap(document.get('vms'))) document.set('vms', document.createNode({}));
  const places: Place[] = [];
  const left: FoundVm[] = [];
  for (const vm of vms) {
    const known = declared.get(vm.name);
    if (known) {
      const own: Path = known.number === undefined ? [] : ['overrides', known.number];
      places.push({ vm, address: known.address, path: ['vms', known.group, ...own] });
    } else left.push(vm);
  }
  const others = left.filter((vm) => {
    const place = grown(document, vm);
    if (place) places.push(place);
    return !place;
  });
  const taken = Object.keys(groupsOf(document));
  const defaults = defaultsOf(document);
  for (const family of families(others, { stackName, taken })) {
    const { shared, ...lines } = groupLines(family);
    const own = new Map([...shared].filter(([path, value]) => !isEqual(defaults.get(path), value)));
    places.push(...placed(document, { ...lines, shared: own }));
  }
  return { before: text, document, places };
}

function defaultsOf(document: Document): Leaves {
  const tree: unknown = document.toJS();
  return isTree(tree) && isTree(tree.defaults) ? leavesOf(tree.defaults) : new Map();
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function groupsOf(document: Document): Readonly<Record<string, unknown>> {
  const tree: unknown = document.toJS();
  const vms = isTree(tree) ? tree.vms : undefined;
  return isTree(vms) ? vms : {};
}

const NUMBER = `$${'{number}'}`;

/** The next member of a group that counts, if its name is the name of this VM. */
function grown(document: Document, vm: FoundVm): Place | undefined {
  for (const [group, tree] of Object.entries(groupsOf(document))) {
    if (!isTree(tree) || typeof tree.count !== 'number' || typeof tree.name !== 'string') continue;
    const number = tree.count + 1;
    if (tree.name.replaceAll(NUMBER, String(number)) !== vm.name) continue;
    document.setIn(['vms', group, 'count'], number);
    const ids = idsIn(tree.vmids);
    if (ids && ids.length < number) {
      document.setIn(['vms', group, 'vmids'], document.createNode(idRanges([...ids, vm.vmid])));
    }
    for (const path of addressLists(tree)) widen(document, ['vms', group, ...path], number, vm);
    return { vm, address: vmAddress(group, number), path: ['vms', group, 'overrides', number] };
  }
  return undefined;
}

function addressLists(tree: Tree): string[][] {
  const nics = isTree(tree.nics) ? Object.entries(tree.nics) : [];
  return nics.flatMap(([slot, nic]) =>
    ['ipv4', 'ipv6'].flatMap((family) => {
      const settings = isTree(nic) ? nic[family] : undefined;
      return isTree(settings) && 'addresses' in settings ? [['nics', slot, family, 'addresses']] : [];
    }),
  );
}

function widen(document: Document, path: Path, number: number, { leaves }: FoundVm): void {
  const node: unknown = document.getIn(path, true);
  const written: unknown = isSeq(node) ? node.toJS(document) : document.getIn(path);
  const known = addressesIn(written);
  if (!known || known.length >= number) return;
  const own = leaves.get(path.slice(2).join('.').replace(/es$/, ''));
  const ranges = addressRanges([...known, own]);
  if (ranges !== undefined) document.setIn(path, document.createNode(ranges));
}

/** Writes a group into `vms`. */
function placed(document: Document, { family, head, shared, overrides }: GroupLines): Place[] {
  const { key, members, series } = family;
  const tree = new Map<unknown, unknown>(Object.entries({ ...treeOf(head), ...treeOf(inOrder(shared)) }));
  if (overrides.size > 0)
    tree.set('overrides', new Map([...overrides].map(([number, own]) => [number, treeOf(inOrder(own))])));
  const node = document.createNode(tree);
  for (const pair of (node as YAMLMap<unknown, Node>).items) tidy(pair.value, String(pair.key).length + 6);
  const remarks = remarksOn(members);
  const vms = document.get('vms') as YAMLMap; // both callers check it
  const pair = document.createPair<Scalar, Node>(key, node);
  if (vms.items.length > 0) pair.key.spaceBefore = true;
  vms.add(pair);
  if (remarks.length > 0) {
    // Text from the server: a line break must not end the comment.
    node.commentBefore = ['Not in this file, and left as it is:', ...remarks]
      .map((line) => ` ${visibleLine(line)}`)
      .join('\n');
  }
  return members.map((vm, index) => {
    const member = series?.numbers === 'count' ? index + 1 : series?.numbers[index];
    const own: Path = series ? ['overrides', index + 1] : [];
    return { vm, address: vmAddress(key, member), path: ['vms', key, ...own] };
  });
}

const WIDTH = 100;

/** Writes maps that fit into a line in one line, as people do. */
function tidied<Value extends Node>(node: Value, indent: number): Value {
  if (node instanceof YAMLMap) for (const { key, value } of node.items) tidy(value, indent + String(key).length + 4);
  return node;
}

function tidy(node: unknown, indent: number): void {
  if (isSeq(node)) node.flow = true;
  if (!(node instanceof YAMLMap)) return;
  const text = stringify(node.toJSON(), { collectionStyle: 'flow', lineWidth: 0 }).trimEnd();
  const isShort =
    !text.includes('\n') && text.length + indent <= WIDTH && !node.items.some(({ value }) => isDeep(value));
  if (isShort) node.flow = true;
  for (const { key, value } of node.items) tidy(value, indent + String(key).length + 4);
}

/** A line with more levels than `nics: { net0: { ipv4: { … } } }` is hard to read. */
function isDeep(node: unknown, levels = 2): boolean {
  return node instanceof YAMLMap && (levels === 0 || node.items.some(({ value }) => isDeep(value, levels - 1)));
}

/** Writes a value of one VM; `null` removes what the group or the defaults set. */
export function setOwn({ document }: AdoptedText, { path }: Place, field: string, value: unknown): void {
  const steps = [...path, ...field.split('.')];
  for (let depth = 1; depth < steps.length; depth++) {
    const above = steps.slice(0, depth);
    if (!isMap(document.getIn(above))) document.setIn(above, document.createNode({}));
  }
  document.setIn(steps, value === null ? null : document.createNode(value));
}

export function printed({ document, before = '' }: AdoptedText, file: string): string {
  if (file.endsWith('.json')) return `${safeJson(document.toJS(), 2)}\n`;
  // Notes can contain invisible characters, or ones that reverse the text. A user's own file keeps them.
  if (visibleText(before) !== before) return document.toString(STYLE);
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string' && visibleText(node.value) !== node.value) node.type = 'QUOTE_DOUBLE';
    },
  });
  return escapedUnsafe(document.toString(STYLE));
}

const STYLE = { lineWidth: 0, flowCollectionPadding: true };

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The position of each field on the reference page. */
const ranks = once(() => new Map(vmFieldRows().map(({ path }, index) => [path, index])));

/** Fields as the reference page orders them, with the place of the VM first. */
export function inOrder(leaves: Leaves): Map<string, unknown> {
  const ranked = [...leaves].map(([path, value]) => {
    const slot = SLOT.exec(path)?.[0];
    return { path, value, slot, rank: rankOf(path), device: slot === undefined ? undefined : rankOf(slot) };
  });
  // Devices one after the other, each with all of its fields.
  return new Map(
    ranked
      .sort(
        (a, b) =>
          (a.device ?? a.rank) - (b.device ?? b.rank) ||
          (a.slot ?? '').localeCompare(b.slot ?? '', 'en', { numeric: true }) ||
          a.rank - b.rank,
      )
      .map(({ path, value }) => [path, value]),
  );
}

function rankOf(path: string): number {
  if (path === 'node' || path === 'nodes') return -1;
  // Addresses of members are a list; parts without a row, such as `extra.args`, take the position of their owner.
  for (let at = path.replace(SLOT, '$1.*').replace(/\.addresses$/, '.address'); at !== ''; at = ownerOf(at)) {
    const rank = ranks().get(at) ?? firstBelow(at);
    if (rank !== undefined) return rank;
  }
  return ranks().size;
}

const ownerOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('.')));

function firstBelow(branch: string): number | undefined {
  for (const [path, rank] of ranks()) if (path.startsWith(`${branch}.`)) return rank;
  return undefined;
}
