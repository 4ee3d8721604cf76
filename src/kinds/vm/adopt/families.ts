/**
 * Families of VMs: those whose names differ by a number and that are nearly alike become a group, as a person would write
 * it. Pure.
 */
import type { VmObserved } from '../observed.ts';
import type { ImportedFields } from '../take-over/fields.ts';
import { inheritedPaths, type KnownTemplate, originOf, referenceTo } from './origin.ts';
import { isSame, type Leaves, leavesOf } from './shared-values.ts';

/** A VM to be adopted, as a stack file describes it. */
export interface FoundVm {
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  readonly leaves: Leaves;
  /** Paths of values that a clone of its template has anyway. */
  readonly inherited: ReadonlySet<string>;
  readonly leftOut: readonly string[];
}

export interface Family {
  /** Its key under `vms`. */
  readonly key: string;
  /** In the order of their numbers. */
  readonly members: readonly FoundVm[];
  /** Absent for a single VM. */
  readonly series?: Series;
}

/** How the names of the members are made. */
export interface Series {
  readonly prefix: string;
  readonly suffix: string;
  /** `count`: the numbers are 1, 2, 3 and so on; else the digits of each. */
  readonly numbers: 'count' | readonly string[];
}

/** Fields that are different for every VM: they do not count when members are compared. */
const OWN = /^(name|vmid|node|nics\.[^.]+\.(mac|ipv[46]\.address)|description)$/;
/** Two members of a family may differ in this many fields. */
const MAY_DIFFER = 4;

/** `pool` comes from the list of guests, not from the configuration. */
export function foundVm(
  observed: VmObserved,
  { written, fields, leftOut }: ImportedFields,
  { templates, pool }: { readonly templates: readonly KnownTemplate[]; readonly pool?: string | undefined },
): FoundVm {
  const { vmid, node } = observed;
  const own = leavesOf(written);
  const origin = originOf(observed, own, templates);
  const clone = origin && {
    clone: { template: referenceTo(origin.template, templates, node), ...(origin.isLinked && { mode: 'linked' }) },
  };
  return {
    vmid,
    node,
    name: fields.name,
    leaves: leavesOf({ ...written, ...(pool !== undefined && { pool }), ...clone }),
    inherited: origin ? inheritedPaths(own, origin.template) : new Set(),
    leftOut,
  };
}

export interface KeyOptions {
  readonly stackName?: string;
  /** Keys that the file has already. */
  readonly taken?: Iterable<string>;
}

export function families(vms: readonly FoundVm[], { stackName = '', taken = [] }: KeyOptions = {}): Family[] {
  const keys = new Set(taken);
  const keyOf = (name: string) => newKey(shortened(name, stackName), keys);
  const stems = new Map<string, (FoundVm & { readonly parts: NameParts })[]>();
  const single: FoundVm[] = [];
  for (const vm of [...vms].sort((a, b) => a.vmid - b.vmid)) {
    const parts = partsOf(vm.name);
    if (!parts) single.push(vm);
    else {
      const stem = `${parts.prefix}\0${parts.suffix}`;
      const members = stems.get(stem) ?? [];
      members.push({ ...vm, parts });
      stems.set(stem, members);
    }
  }
  const found: Family[] = [];
  for (const members of stems.values()) {
    const alike = likeEachOther(members.sort((a, b) => Number(a.parts.digits) - Number(b.parts.digits)));
    for (const cluster of alike.sort((a, b) => b.length - a.length)) {
      const [first] = cluster;
      if (!first || cluster.length === 1) single.push(...cluster);
      else found.push({ key: keyOf(first.parts.prefix), members: cluster, series: seriesOf(cluster) });
    }
  }
  return [...found, ...single.map((vm) => ({ key: keyOf(vm.name), members: [vm] }))].sort(
    (a, b) => (a.members[0]?.vmid ?? 0) - (b.members[0]?.vmid ?? 0),
  );
}

interface NameParts {
  readonly prefix: string;
  readonly digits: string;
  readonly suffix: string;
}

/** The number is at the end of the name, or of its first label: `web-1`, `node3.lab.example`. */
function partsOf(name: string): NameParts | undefined {
  const match = /^([^.]*?[^.\d])(\d{1,9})(\..*)?$/.exec(name);
  return match ? { prefix: match[1] ?? '', digits: match[2] ?? '', suffix: match[3] ?? '' } : undefined;
}

/** Clusters of members that differ in a few fields; no cluster has a number twice. */
function likeEachOther<Vm extends FoundVm & { readonly parts: NameParts }>(members: readonly Vm[]): Vm[][] {
  const clusters: Vm[][] = [];
  for (const vm of members) {
    const fits = ([first, ...others]: readonly Vm[]) =>
      first !== undefined &&
      ![first, ...others].some(({ parts }) => Number(parts.digits) === Number(vm.parts.digits)) &&
      differences(first.leaves, vm.leaves) <= MAY_DIFFER;
    const cluster = clusters.find(fits);
    if (cluster) cluster.push(vm);
    else clusters.push([vm]);
  }
  return clusters;
}

function differences(one: Leaves, other: Leaves): number {
  const paths = new Set([...one.keys(), ...other.keys()]);
  return [...paths].filter((path) => !OWN.test(path) && !isSame(one.get(path), other.get(path))).length;
}

function seriesOf(members: readonly (FoundVm & { readonly parts: NameParts })[]): Series {
  const { prefix = '', suffix = '' } = members[0]?.parts ?? {};
  const isCounted = members.every(({ parts }, index) => parts.digits === String(index + 1));
  return { prefix, suffix, numbers: isCounted ? 'count' : members.map(({ parts }) => parts.digits) };
}

/** In the stack "lab", the key of lab-web is web. */
function shortened(name: string, stackName: string): string {
  const rest = name.startsWith(`${stackName}-`) ? name.slice(stackName.length + 1) : '';
  return /[A-Za-z]/.test(rest) ? rest : name;
}

/** A key that the schema accepts and nothing else has. */
function newKey(name: string, keys: Set<string>): string {
  const plain = name
    .replace(/\..*$/, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .replace(/[-_]+$/, '');
  const base = plain === '' ? 'vm' : plain;
  let key = base;
  for (let number = 2; keys.has(key); number++) key = `${base}-${number}`;
  keys.add(key);
  return key;
}

/** Beyond this many names, the rest is counted. */
const NAMED = 4;

/** What a file cannot say of these VMs, each thing once, with the names of those it is true of unless it is true of all. */
export function remarksOn(vms: readonly Pick<FoundVm, 'name' | 'leftOut'>[]): string[] {
  const names = new Map<string, string[]>();
  for (const { name, leftOut } of vms) {
    for (const each of leftOut) {
      const of = names.get(each);
      if (of) of.push(name);
      else names.set(each, [name]);
    }
  }
  return [...names].map(([remark, of]) => (of.length === vms.length ? remark : `${listed(of)}: ${remark}`));
}

function listed(names: readonly string[]): string {
  const rest = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
