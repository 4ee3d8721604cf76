/**
 * The template that a VM was cloned from, and what the VM still has from there. A linked clone names the disk of its template.
 * A full clone keeps the creation time of its template, because Proxmox copies it. Pure.
 */
import { drivesOf } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import type { VmObserved } from '../observed.ts';
import { fieldsOfVm } from '../take-over/fields.ts';
import { isSame, type Leaves, leavesOf } from './shared-values.ts';

export interface KnownTemplate {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly createdAt: string | undefined;
  readonly leaves: Leaves;
}

export interface Origin {
  readonly template: KnownTemplate;
  readonly isLinked: boolean;
}

export function knownTemplates(templates: readonly VmObserved[]): KnownTemplate[] {
  return templates.map((each) => ({
    vmid: each.vmid,
    node: each.node,
    name: each.current.get('name') ?? '',
    createdAt: createdAt(each),
    leaves: leavesOf(fieldsOfVm(each).written),
  }));
}

export function originOf(vm: VmObserved, leaves: Leaves, templates: readonly KnownTemplate[]): Origin | undefined {
  const base = linkedTo(vm.current);
  if (base !== undefined) {
    const template = templates.find(({ vmid }) => vmid === base);
    return template && { template, isLinked: true };
  }
  const since = createdAt(vm);
  const copied = templates.filter((each) => since !== undefined && each.createdAt === since);
  const near = copied.filter(({ node }) => node === vm.node);
  // A template that was cloned from another one has the same time.
  const template = mostAlike(leaves, near.length > 0 ? near : copied);
  return template && { template, isLinked: false };
}

/** As a stack file names it for a VM on `node`: a name means the template on that node, or the only one. */
export function referenceTo(
  template: KnownTemplate,
  templates: readonly KnownTemplate[],
  node: string,
): string | number {
  const named = templates.filter(({ name }) => name !== '' && name === template.name);
  const here = named.filter((each) => each.node === node);
  return (here.length > 0 ? here : named).length === 1 ? template.name : template.vmid;
}

function createdAt({ current }: VmObserved): string | undefined {
  return propertyOf('meta', current.get('meta')).get('ctime');
}

/** A linked clone names the volume that it builds on, and with it the template. */
function linkedTo(current: ReadonlyMap<string, string>): number | undefined {
  const drive = drivesOf(current).find(({ file }) => BASE.test(file));
  return drive && Number(BASE.exec(drive.file)?.[1]);
}

const BASE = /[:/]base-(\d+)-disk-\d+[^/]*\//;

/**
 * The one with the fewest values that the VM lacks, then with the most that it has; undefined if two are equally
 * similar.
 */
function mostAlike(leaves: Leaves, templates: readonly KnownTemplate[]): KnownTemplate | undefined {
  const rated = templates.map((template) => {
    const alike = inheritedPaths(leaves, template).size;
    const given = [...template.leaves.keys()].filter((path) => !ALWAYS_SAID.test(path));
    return { template, alike, lacking: given.length - alike };
  });
  const [first, second] = rated.sort((a, b) => a.lacking - b.lacking || b.alike - a.alike);
  return second && first?.lacking === second.lacking && first.alike === second.alike ? undefined : first?.template;
}

/** Fields that the VM has from its template: a clone has them without a line in the file. */
export function inheritedPaths(leaves: Leaves, template: KnownTemplate): Set<string> {
  return new Set(
    [...leaves].flatMap(([path, value]) =>
      !ALWAYS_SAID.test(path) && template.leaves.has(path) && isSame(template.leaves.get(path), value) ? [path] : [],
    ),
  );
}

/** What a reader wants to know about every VM, and what no template decides. */
const ALWAYS_SAID =
  /^(name|vmid|node|pool|power|memory|cpu\.cores|ha\..*|nics\.[^.]+\.(mac|bridge|vlan|ipv[46](\..*)?))$/;
