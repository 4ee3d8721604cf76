/** A family of VMs as the lines of a group: what its members share, and what only some of them have. Pure. */
import { z } from 'zod';
import { once } from '../../../base/values/once.ts';
import { vmFieldRows } from '../fields/rows.ts';
import type { Family, FoundVm } from './families.ts';
import { addressRanges, idRanges } from './ranges.ts';
import { factored, isSame, type Leaves, SLOT } from './shared-values.ts';

export interface GroupLines {
  readonly family: Family;
  /** Their number, names and IDs, which no other group can share. */
  readonly head: Leaves;
  readonly shared: Leaves;
  /** By number of the member. */
  readonly overrides: ReadonlyMap<number, Leaves>;
}

export function groupLines(family: Family): GroupLines {
  const { members, series } = family;
  const own = members.map(ownLeaves);
  const [first] = own;
  if (!series || !first) {
    const [vm] = members;
    const head = new Map<string, unknown>([
      ['name', vm?.leaves.get('name')],
      ['vmid', vm?.vmid],
    ]);
    return { family, head, shared: new Map([['node', vm?.node], ...(first ?? [])]), overrides: new Map() };
  }
  const isCounted = series.numbers === 'count';
  const written = (text: string) => text.replaceAll('${', () => '$${');
  const head = new Map<string, unknown>([
    isCounted ? ['count', members.length] : ['each', eachOf(series.numbers)],
    ['name', `${written(series.prefix)}\${${isCounted ? 'number' : 'each'}}${written(series.suffix)}`],
    ['vmids', idRanges(members.map(({ vmid }) => vmid))],
  ]);
  const ranges = addressLeaves(own);
  const inRange = (path: string) => ranges.has(`${path}es`);
  const alone = own.map((leaves) => new Map([...leaves].filter(([path]) => !inRange(path))));
  const { shared, rests } = factored(
    alone,
    ({ having, lacking }) => having > lacking,
    members.map(({ leaves }) => leaves),
  );
  const overrides = rests.flatMap((rest, index): [number, Leaves][] => (rest.size === 0 ? [] : [[index + 1, rest]]));
  return { family, head, shared: new Map([...placeOf(members), ...shared, ...ranges]), overrides: new Map(overrides) };
}

/** Digits that mean something else as a number, such as 01, are written as text. */
function eachOf(numbers: Exclude<NonNullable<Family['series']>['numbers'], 'count'>): (number | string)[] {
  return numbers.map((digits) => (String(Number(digits)) === digits ? Number(digits) : digits));
}

/** An existing VM stays where it is, so several nodes need no line for each member. */
function placeOf(members: readonly FoundVm[]): [string, unknown][] {
  const nodes = [...new Set(members.map(({ node }) => node))].sort();
  return nodes.length === 1 ? [['node', nodes[0]]] : [['nodes', nodes]];
}

const STATIC_ADDRESS = /^nics\.[^.]+\.ipv[46]\.address$/;

/** `addresses` of the NICs of which every member has a static address. */
function addressLeaves(members: readonly Leaves[]): Map<string, unknown> {
  const paths = [...(members[0]?.keys() ?? [])].filter((path) => STATIC_ADDRESS.test(path));
  return new Map(
    paths.flatMap((path): [string, unknown][] => {
      const ranges = addressRanges(members.map((leaves) => leaves.get(path)));
      return ranges === undefined ? [] : [[`${path}es`, ranges]];
    }),
  );
}

/** What the file has to say about it: neither its identity and place, nor what it has from its template. */
function ownLeaves(vm: FoundVm): Map<string, unknown> {
  return new Map([...allLeaves(vm)].filter(([path]) => !vm.inherited.has(path)));
}

/** Without identity and place, and without defaults. */
export function allLeaves({ leaves }: FoundVm): Map<string, unknown> {
  return new Map([...leaves].filter(([path, value]) => !NOT_SHARED.test(path) && !isGivenAnyway(path, value)));
}

/** A MAC address stays as it is even if the file does not mention it. */
const NOT_SHARED = /^(name|vmid|node|nics\.[^.]+\.mac)$/;

/** The value that Proxmox or the field itself assumes. */
function isGivenAnyway(path: string, value: unknown): boolean {
  const row = rowsByPath().get(path.replace(SLOT, '$1.*'));
  // Whether something is on is always written out.
  if (!row || path.endsWith('.enabled')) return false;
  if (row.facts.serverDefault === String(value)) return true;
  const given = z.safeParse(row.schema, undefined);
  const parsed = z.safeParse(row.schema, value);
  return given.success && given.data !== undefined && parsed.success && isSame(given.data, parsed.data);
}

const rowsByPath = once(() => new Map(vmFieldRows().map((row) => [row.path, row])));

/** Values worth writing once for all groups, and the groups without them. */
export function withDefaults(groups: readonly GroupLines[]): {
  readonly defaults: Leaves;
  readonly groups: readonly GroupLines[];
} {
  const { shared, rests } = factored(
    groups.map((group) => group.shared),
    ({ having, lacking }, path) =>
      !PER_GROUP.test(path) &&
      having > 1 &&
      having * 2 > groups.length &&
      lacking <= (OF_ALL_OR_NONE.test(path) ? 0 : having / NEARLY_ALL),
    groups.map(({ family: { members } }) => inCommon(members)),
  );
  return {
    defaults: shared,
    groups: groups.map((group, index) => {
      const rest = new Map(rests[index] ?? []);
      // The list of nodes takes the place of the one node.
      if (rest.has('nodes') && rest.get('node') === null) rest.delete('node');
      return { ...group, shared: rest };
    }),
  };
}

/** A default that many VMs override does not help the reader: at most one in this many may. */
const NEARLY_ALL = 5;

/** What all members have, with or without a line for it. */
function inCommon([first, ...others]: readonly FoundVm[]): Leaves {
  return new Map(
    [...(first?.leaves ?? [])].filter(([path, value]) => others.every(({ leaves }) => isSame(leaves.get(path), value))),
  );
}

/** Values of one group even if another has the same. */
const PER_GROUP = /^(description|nodes|nics\.[^.]+\.ipv[46]\.(address|addresses))$/;

/** A default that some VMs override would mislead the reader. */
const OF_ALL_OR_NONE = /^(power|pool|clone\..*)$/;
