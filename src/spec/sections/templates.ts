/** Reads `templates:`: the VMs that become templates, one for each node that has its own. */

import { addressOf } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import { advice, setting } from '../../base/hint.ts';
import { closest } from '../../base/text/closest.ts';
import { counted } from '../../base/values/units.ts';
import type { ResolvedTemplate } from '../../kinds/template/stack.ts';
import { vmFieldsSchema } from '../../kinds/vm/fields/index.ts';
import {
  describeKind,
  type Entry,
  type LocatedMap,
  type Path,
  positionsOf,
  quote,
  scalar,
  unknownAt,
  withEntry,
  withoutKeys,
} from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { checkShape } from '../problems/issues.ts';
import { salvage } from '../problems/salvage.ts';
import { NOT_OF_TEMPLATES, templateKeysSchema } from '../stack-schema.ts';
import { evaluate, type Scope } from '../variables/expressions.ts';
import { replaceImages } from './disk-images.ts';
import { type Member, withoutNulls } from './groups.ts';
import { type Images, noteUser } from './images.ts';
import { readPool, shareAddresses } from './ranges.ts';
import { namedParts } from './sections.ts';
import { parseMember, type Sort, UNRELATED } from './vm.ts';

/** The readable part of a template. */
export interface TemplateCandidate {
  readonly template: ResolvedTemplate;
  /** Paths with a mistake or an unknown value. */
  readonly tainted: readonly Path[];
  /** Whether it has `from`, even if its value is invalid. */
  readonly isCopy: boolean;
}

export interface TemplateContext {
  readonly defaults: LocatedMap;
  readonly scope: Scope;
  readonly images: Images;
  readonly findings: Findings;
}

const OWN_KEYS: ReadonlySet<string> = new Set(Object.keys(templateKeysSchema.shape));
const TEMPLATE: Sort = { subject: 'a template', ownKeys: OWN_KEYS };

export function readTemplates(entry: Entry | undefined, context: TemplateContext): readonly TemplateCandidate[] {
  const names = { schema: vmFieldsSchema.shape.name, word: 'template' };
  const evaluated = entry && { ...entry, value: evaluate(entry.value, context.scope, context.findings) };
  return namedParts('templates', evaluated, names, context.findings).flatMap(([name, part]) =>
    readTemplate(name, part, context),
  );
}

/** Expects every reference to be replaced. */
export function readTemplate(
  name: string,
  { keyAt, value }: Entry,
  context: TemplateContext,
): readonly TemplateCandidate[] {
  const { findings } = context;
  if (value.kind !== 'map') {
    if (value.kind !== 'unknown') {
      findings.add({
        code: 'BAD_VALUE',
        where: value.at,
        detail: `The template ${quote(name)} must be a map of fields; it is ${describeKind(value)}.`,
      });
    }
    return [];
  }
  const whole = withoutNulls(value);
  const strangers = new Set([...whole.entries.keys()].filter((key) => !OWN_KEYS.has(key)));
  const keys = withoutKeys(whole, strangers);
  const address = addressOf('template', name);
  checkShape(templateKeysSchema, keys, { subject: 'a template', keyAt, findings, address });
  const own = salvage(templateKeysSchema, keys, {});
  const said = refuseForeignFields(withoutKeys(whole, OWN_KEYS), findings);
  const nodes = readNodes(said, keys, keyAt, context);
  const need = { count: nodes.length, words: `the template is on ${counted(nodes.length, 'node')}` };
  const vmids = readPool(keys, whole, need, findings);
  const fields = refuseSharedId(said, nodes.length, findings);

  const { from, install } = own.fields;
  return nodes.map((node, index) => {
    const member: Member = {
      address: addressOf('template', name, node.key),
      group: name,
      number: index + 1,
      tree: templateTree(fields, name, node.entry, keyAt),
      at: keyAt,
      ...(vmids && { vmids }),
      formerly: [],
    };
    const shared = shareAddresses(member.tree, member.number, findings);
    const tree = replaceImages(shared, member.address, context.images, findings);
    const candidate = parseMember({ ...member, tree }, UNRELATED, findings, TEMPLATE);
    noteUser(context.images, candidate);
    const { vm, tainted } = candidate;
    return {
      template: {
        name,
        vm: { ...vm, positions: { ...positionsOf(keys, keyAt), ...vm.positions } },
        ...(from && { from: from.vm }),
        ...(install && { install: { timeoutMs: install.timeout } }),
      },
      tainted: [...tainted, ...own.tainted, ...mistypedKeys(fields)],
      isCopy: keys.entries.has('from'),
    };
  });
}

function refuseForeignFields(fields: LocatedMap, findings: Findings): LocatedMap {
  for (const [key, hint] of Object.entries(NOT_OF_TEMPLATES)) {
    const entry = fields.entries.get(key);
    if (!entry) continue;
    findings.add({ code: 'UNKNOWN_FIELD', where: entry.keyAt, detail: `"${key}" is not a field of a template.`, hint });
  }
  return withoutKeys(fields, new Set(Object.keys(NOT_OF_TEMPLATES)));
}

/** A mistyped key probably means a required one, so do not report that one as missing. */
function mistypedKeys(fields: LocatedMap): readonly Path[] {
  const ofVms = Object.keys(vmFieldsSchema.shape);
  return [...fields.entries.keys()].flatMap((key) => {
    const guess = ofVms.includes(key) ? undefined : closest(key, [...OWN_KEYS, ...ofVms]);
    return guess !== undefined && OWN_KEYS.has(guess) ? [[guess]] : [];
  });
}

interface Place {
  /** The part of the address in brackets; absent if the template is on one node. */
  readonly key?: string;
  /** Absent if the file does not set it. */
  readonly entry?: Entry;
}

/** `nodes`, `node`, or the node of `defaults`, which is the only default that applies to templates. */
function readNodes(
  fields: LocatedMap,
  keys: LocatedMap,
  keyAt: Where,
  { defaults, scope, findings }: TemplateContext,
): readonly Place[] {
  const [one, several] = [fields.entries.get('node'), keys.entries.get('nodes')];
  if (!several) {
    const standard = defaults.entries.get('node');
    if (one || !standard || speaksOfMembers(standard)) return [one ? { entry: one } : {}];
    return [{ entry: { ...standard, value: evaluate(standard.value, scope, findings) } }];
  }
  if (one) {
    findings.add({
      code: 'BAD_VALUE',
      where: several.keyAt,
      detail: '"node" and "nodes" cannot be used together: name one node, or several with one template each.',
    });
  }
  const unclear: Place = { entry: { keyAt, value: unknownAt(several.value.at) } };
  if (several.value.kind !== 'list' || several.value.items.length === 0) return [unclear];
  const seen = new Set<string>();
  return several.value.items.flatMap((item): Place[] => {
    if (item.kind !== 'scalar' || typeof item.value !== 'string') return [unclear];
    if (!seen.has(item.value)) {
      seen.add(item.value);
      return [{ key: item.value, entry: { keyAt: several.keyAt, value: item } }];
    }
    findings.add({
      code: 'BAD_VALUE',
      where: item.at,
      detail: `The node ${quote(item.value)} is named twice, but each node can have one template of this name.`,
    });
    return [];
  });
}

/** A default that differs between members does not apply to templates. */
function speaksOfMembers({ value }: Entry): boolean {
  return value.kind === 'scalar' && /\$\{\s*(number|each)\s*\}/.test(String(value.value));
}

function refuseSharedId(fields: LocatedMap, count: number, findings: Findings): LocatedMap {
  const vmid = fields.entries.get('vmid');
  if (!vmid || count < 2) return fields;
  const first = vmid.value.kind === 'scalar' ? Number(vmid.value.value) : Number.NaN;
  findings.add({
    code: 'BAD_VALUE',
    where: vmid.value.at,
    detail: `The templates of ${counted(count, 'node')} cannot share one ID.`,
    hint: advice`Write ${setting('vmids', Number.isSafeInteger(first) ? `${first}-${first + count - 1}` : '9000-9009')}.`,
  });
  return withEntry(fields, 'vmid', undefined);
}

/** The fields, completed with the name and node of the template. */
function templateTree(fields: LocatedMap, name: string, node: Entry | undefined, at: Where): LocatedMap {
  const said = (value: string): Entry => ({ keyAt: at, value: scalar(value, at) });
  const named = withEntry(withEntry(fields, 'name', said(name)), 'power', said('stopped'));
  return withEntry(named, 'node', node);
}
