/** Expands groups into their members, and merges the layers of each member key by key: defaults ← group ← overrides. */
import { type Address, vmAddress } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import { advice, setting } from '../../base/hint.ts';
import { counted } from '../../base/values/units.ts';
import { HOOK_NAMES } from '../../kinds/vm/fields/lifecycle.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import {
  child,
  describeKind,
  type Entry,
  type Located,
  type LocatedMap,
  quote,
  unknownAt,
  withoutKeys,
} from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { checkShape } from '../problems/issues.ts';
import { GROUP_KEYS, groupKeysSchema } from '../stack-schema.ts';
import { evaluate, hasReference, type Scope } from '../variables/expressions.ts';
import { addressRangesOf, readPool, shareAddresses } from './ranges.ts';

export interface Member {
  readonly address: Address;
  readonly group: string;
  readonly number: number;
  /** The part of the address in brackets; absent in a group of one. */
  readonly key?: number | string;
  /** The VM's fields, merged and with every reference replaced. */
  readonly tree: LocatedMap;
  /** Where the group is named. */
  readonly at: Where;
  readonly vmids?: readonly number[];
  /** By field path: the addresses that its group shares. */
  readonly addressRanges?: ResolvedVm['addressRanges'];
  /** Where `vmids` is written. */
  readonly vmidsAt?: Where;
  /** `formerly` of the group and of the member's overrides. */
  readonly formerly: readonly Located[];
}

export interface Overrides {
  readonly entries: LocatedMap;
  /** Written in the group itself, not given by a variable. */
  readonly isInline: boolean;
  /** Keys that matched a member. */
  readonly used: Set<string>;
}

export interface Group {
  readonly name: string;
  readonly at: Where;
  readonly members: readonly Member[];
  /** A placeholder member of an empty group, so that the group's fields are checked anyway. */
  readonly specimen?: Member;
  readonly after?: Located;
  readonly overrides?: Overrides;
}

export interface GroupContext {
  readonly defaults: LocatedMap;
  readonly scope: Scope;
  readonly maxMembers: number;
  readonly findings: Findings;
}

export function expandGroup(name: string, { keyAt, value }: Entry, context: GroupContext): Group {
  const { scope, findings } = context;
  if (value.kind !== 'map') {
    if (value.kind !== 'unknown') {
      findings.add({
        code: 'BAD_VALUE',
        where: value.at,
        detail: `The group ${quote(name)} must be a map of fields; it is ${describeKind(value)}.`,
      });
    }
    return { name, at: keyAt, members: [] };
  }
  const others = new Set(
    [...value.entries.keys(), 'overrides'].filter((key) => key === 'overrides' || !GROUP_KEYS.has(key)),
  );
  const keys = evaluate(withoutKeys(value, others), scope, findings);
  checkShape(groupKeysSchema, keys, { subject: `the group ${quote(name)}`, keyAt, findings });
  const roll = readRoll(keys, keyAt, context);
  const need = { count: roll.length, words: `the group has ${counted(roll.length, 'VM')}` };
  const vmids = readPool(keys, value, need, findings);
  const overrides = readOverrides(value.entries.get('overrides'), scope, findings);
  const formerly = child(keys, 'formerly');
  const make = (number: number, key: Roll): Member => ({
    ...memberTree(withoutKeys(value, GROUP_KEYS), number, key.element, overrides, context),
    ...(key.key !== undefined && { key: key.key }),
    address: vmAddress(name, key.key),
    group: name,
    number,
    at: keyAt,
    ...(vmids && { vmids, vmidsAt: child(keys, 'vmids')?.at ?? keyAt }),
  });
  const withGroup = (member: Member): Member =>
    formerly ? { ...member, formerly: [formerly, ...member.formerly] } : member;
  const members = roll.map((key, index) => withGroup(make(index + 1, key)));
  const after = child(keys, 'after');
  return {
    name,
    at: keyAt,
    members,
    ...(members.length === 0 && { specimen: make(1, { element: unknownAt(keyAt) }) }),
    ...(after && { after }),
    ...(overrides && { overrides }),
  };
}

/** More VMs than one state file and one plan can sensibly hold. */
export const MAX_VMS = 10_000;

/** One line per member. */
interface Roll {
  readonly key?: number | string;
  readonly element?: Located;
}

function readRoll(keys: Located, keyAt: Where, { maxMembers, findings }: GroupContext): readonly Roll[] {
  const [count, each] = [child(keys, 'count'), child(keys, 'each')];
  if (count && each) {
    findings.add({
      code: 'BAD_VALUE',
      where: keyAt,
      detail: '"count" and "each" cannot be used together: give a number of VMs, or a list with one VM per element.',
    });
    return [];
  }
  const members = each ? eachRoll(each, findings) : [];
  const size = count ? countOf(count) : each ? members.length : 1;
  if (size > MAX_VMS) {
    findings.add({
      code: 'BAD_VALUE',
      where: (count ?? each)?.at ?? keyAt,
      detail: `The group would have ${counted(size, 'VM')}; a stack has at most ${MAX_VMS}.`,
      hint: 'Split it into several stacks.',
    });
    return [];
  }
  if (size > maxMembers) {
    findings.add({
      code: 'BAD_VALUE',
      where: (count ?? each)?.at ?? keyAt,
      detail: `The group would have ${counted(size, 'VM')}; at most ${counted(maxMembers, 'is', 'are')} allowed.`,
      hint: advice`Lower it, or raise the limit: ${setting('rollout', { limits: { group_size: size } })}.`,
    });
  }
  const roll = each
    ? members
    : Array.from({ length: Math.min(size, maxMembers) }, (_, index) => (count ? { key: index + 1 } : {}));
  return roll.slice(0, maxMembers);
}

/** The schema has already reported invalid counts. */
function countOf(count: Located): number {
  return count.kind === 'scalar' && Number.isSafeInteger(count.value) ? Math.max(Number(count.value), 0) : 0;
}

function eachRoll(each: Located, findings: Findings): readonly Roll[] {
  if (each.kind !== 'list') return [];
  const seen = new Set<string>();
  return each.items.flatMap((element): Roll[] => {
    if (element.kind !== 'scalar' || element.value === null) return [];
    const key = String(element.value);
    if (element.sensitive) {
      findings.add({
        code: 'BAD_VALUE',
        where: each.at,
        detail: '"each" cannot use a sensitive variable, because its elements become part of the VMs’ addresses.',
      });
      return [];
    }
    if (seen.has(key)) {
      findings.add({
        code: 'BAD_VALUE',
        where: element.at,
        detail: `The element ${quote(key)} occurs twice, but it must identify one VM.`,
      });
      return [];
    }
    seen.add(key);
    return [{ key, element }];
  });
}

function readOverrides(entry: Entry | undefined, scope: Scope, findings: Findings): Overrides | undefined {
  if (!entry) return undefined;
  const isInline = !hasReference(entry.value);
  const value = isInline ? entry.value : evaluate(entry.value, scope, findings);
  if (value.kind === 'map') return { entries: value, isInline, used: new Set() };
  if (value.kind !== 'unknown') {
    findings.add({
      code: 'BAD_VALUE',
      where: value.at,
      detail: `"overrides" must be a map from VM names or numbers to fields; it is ${describeKind(value)}.`,
      hint: advice`Write for example ${setting('overrides', { 2: { memory: '32GiB' } })}.`,
    });
  }
  return undefined;
}

function memberTree(
  fields: LocatedMap,
  number: number,
  element: Located | undefined,
  overrides: Overrides | undefined,
  context: GroupContext,
): Pick<Member, 'tree' | 'formerly' | 'addressRanges'> {
  const { findings } = context;
  const scope: Scope = { ...context.scope, number, ...(element && { each: element }) };
  const evaluated = (node: LocatedMap): LocatedMap => asMap(evaluateFields(node, scope, findings)) ?? node;
  let tree = mergeMaps(withoutNulls(evaluated(context.defaults)), evaluated(fields));
  const formerly: Located[] = [];
  const name = child(tree, 'name');
  const keys = new Set([String(number), name?.kind === 'scalar' ? String(name.value) : '']);
  for (const key of keys) {
    const found = overrides?.entries.entries.get(key);
    if (!found || !overrides) continue;
    overrides.used.add(key);
    // The value of a variable is not evaluated again.
    const value = overrides.isInline ? evaluateFields(found.value, scope, findings) : found.value;
    const former = child(value, 'formerly');
    if (former) formerly.push(former);
    const layer = asMap(value);
    if (layer) tree = mergeMaps(tree, withoutKeys(layer, OVERRIDE_KEYS));
    else if (value.kind !== 'unknown') {
      findings.add({
        code: 'BAD_VALUE',
        where: value.at,
        detail: `The override for ${quote(key)} must be a map of VM fields; it is ${describeKind(value)}.`,
      });
    }
  }
  const addressRanges = addressRangesOf(tree, findings);
  return { tree: shareAddresses(tree, number, findings), formerly, ...(addressRanges && { addressRanges }) };
}

const OVERRIDE_KEYS = new Set(['formerly']);

/** In hooks, variables of the VM get their values when a hook runs. */
function evaluateFields(node: Located, scope: Scope, findings: Findings): Located {
  const hooks = node.kind === 'map' ? node.entries.get('hooks') : undefined;
  if (node.kind !== 'map' || !hooks) return evaluate(node, scope, findings);
  const others = asMap(evaluate(withoutKeys(node, HOOKS), scope, findings)) ?? node;
  const value = evaluate(hooks.value, { ...scope, later: HOOK_NAMES }, findings);
  return { ...others, entries: new Map([...others.entries, ['hooks', { ...hooks, value }]]) };
}

const HOOKS = new Set(['hooks']);

function asMap(node: Located): LocatedMap | undefined {
  return node.kind === 'map' ? node : undefined;
}

/** Keys that exclude each other; the choice of a later layer removes that of an earlier one. */
const ALTERNATIVES: readonly (readonly string[])[] = [
  ['address', 'addresses'],
  ['mapping', 'device', 'spice'],
  ['image', 'import_from', 'iso'],
  ['env', 'file', 'command', 'text'],
  ['node', 'nodes'],
];

/** `null` in a later layer removes the value of an earlier one. */
export function mergeMaps(base: LocatedMap, over: LocatedMap): LocatedMap {
  // "remove" is about the whole slot, so it replaces what an earlier layer says about it.
  if (over.entries.has('remove') || base.entries.has('remove')) return withoutNulls(over);
  const entries = new Map<string, Entry>(base.entries);
  for (const key of over.entries.keys()) {
    for (const other of ALTERNATIVES.find((keys) => keys.includes(key)) ?? []) {
      if (other !== key && !over.entries.has(other)) entries.delete(other);
    }
  }
  // `placement` has no meaning once a later layer names the node.
  if (over.entries.has('node')) entries.delete('placement');
  for (const [key, entry] of over.entries) {
    const earlier = base.entries.get(key)?.value;
    if (entry.value.kind === 'scalar' && entry.value.value === null) entries.delete(key);
    else if (entry.value.kind !== 'map') entries.set(key, entry);
    else {
      const value = earlier?.kind === 'map' ? mergeMaps(earlier, entry.value) : withoutNulls(entry.value);
      entries.set(key, { ...entry, value });
    }
  }
  return { ...over, entries };
}

/** The lowest layer: its nulls have nothing to remove. */
export function withoutNulls(map: LocatedMap): LocatedMap {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of map.entries) {
    if (entry.value.kind === 'map') entries.set(key, { ...entry, value: withoutNulls(entry.value) });
    else if (entry.value.kind !== 'scalar' || entry.value.value !== null) entries.set(key, entry);
  }
  return { ...map, entries };
}
