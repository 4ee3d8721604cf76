/**
 * Families of VMs: those whose names differ by a number and that are nearly alike become a group, as a person would write
 * it. Pure.
 */
import { drivesOf } from '../../kinds/vm/config/disks.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import type { ImportedFields } from '../import/fields.ts';
import { isSame, type Leaves, leavesOf } from './shared-values.ts';

/** A VM to be adopted, as a stack file describes it. */
export interface FoundVm {
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  readonly leaves: Leaves;
  readonly leftOut: readonly string[];
}

export interface Family {
  /** Its key under `vms`. */
  readonly key: string;
  /** In the order of their numbers. */
  readonly members: readonly FoundVm[];
  /** Absent for a VM of its own. */
  readonly series?: Series;
}

/** How the names of the members are made. */
export interface Series {
  readonly prefix: string;
  readonly suffix: string;
  /** `count`: the numbers are 1, 2, 3 and so on; else the digits of each. */
  readonly numbers: 'count' | readonly string[];
}

/** Fields that every VM has for itself: they make no difference between members. */
const OWN = /^(name|vmid|node|nics\.[^.]+\.(mac|ipv[46]\.address)|description)$/;
/** Two members of a family may differ in this many fields. */
const MAY_DIFFER = 4;

/** `templates`: names by id, of those that can be named without ambiguity. */
export function foundVm(
  { vmid, node, current }: VmObserved,
  { written, fields, leftOut }: ImportedFields,
  templates: ReadonlyMap<number, string>,
): FoundVm {
  const template = linkedTo(current);
  const origin = template !== undefined && templates.has(template);
  const clone = origin ? { clone: { template: templates.get(template) ?? template, mode: 'linked' } } : {};
  return { vmid, node, name: fields.name, leaves: leavesOf({ ...written, ...clone }), leftOut };
}

/** A linked clone names the volume that it builds on, and with it the template. */
function linkedTo(current: ReadonlyMap<string, string>): number | undefined {
  const drive = drivesOf(current).find(({ file }) => BASE.test(file));
  return drive && Number(BASE.exec(drive.file)?.[1]);
}

const BASE = /[:/]base-(\d+)-disk-\d+[^/]*\//;

/** `taken`: keys that the file has already. */
export function families(vms: readonly FoundVm[], taken: Iterable<string> = []): Family[] {
  const keys = new Set(taken);
  const stems = new Map<string, (FoundVm & { readonly parts: NameParts })[]>();
  const single: FoundVm[] = [];
  for (const vm of [...vms].sort((a, b) => a.vmid - b.vmid)) {
    const parts = partsOf(vm.name);
    if (!parts) single.push(vm);
    else {
      const stem = `${parts.prefix}\0${parts.suffix}`;
      stems.set(stem, [...(stems.get(stem) ?? []), { ...vm, parts }]);
    }
  }
  const found: Family[] = [];
  for (const members of stems.values()) {
    const alike = likeEachOther(members.sort((a, b) => Number(a.parts.digits) - Number(b.parts.digits)));
    for (const cluster of alike.sort((a, b) => b.length - a.length)) {
      const [first] = cluster;
      if (!first || cluster.length === 1) single.push(...cluster);
      else found.push({ key: newKey(first.parts.prefix, keys), members: cluster, series: seriesOf(cluster) });
    }
  }
  return [...found, ...single.map((vm) => ({ key: newKey(vm.name, keys), members: [vm] }))].sort(
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
