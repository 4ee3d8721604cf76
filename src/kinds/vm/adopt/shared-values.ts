/**
 * Trees of fields as lists of leaves, and what several of them share: the factoring behind `defaults`, groups and
 * overrides. Maps are branches; lists and single values are leaves, named by their dotted path. Pure.
 */

export type Tree = { readonly [key: string]: unknown };
export type Leaves = ReadonlyMap<string, unknown>;

export function leavesOf(tree: Tree, prefix = ''): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  for (const [key, value] of Object.entries(tree)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    if (isTree(value) && Object.keys(value).length > 0) {
      for (const [below, leaf] of leavesOf(value, path)) leaves.set(below, leaf);
    } else leaves.set(path, value);
  }
  return leaves;
}

export function treeOf(leaves: Leaves): Tree {
  const tree: Record<string, unknown> = {};
  for (const [path, value] of leaves) {
    const steps = path.split('.');
    const last = steps.pop() ?? path;
    let owner = tree;
    for (const step of steps) {
      const below = owner[step];
      const next = isTree(below) ? { ...below } : {};
      owner[step] = next;
      owner = next;
    }
    owner[last] = value;
  }
  return tree;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface Factored {
  readonly shared: Leaves;
  /** What each of them has beyond `shared`; `null` where it lacks something of it. */
  readonly rests: readonly Leaves[];
}

/**
 * `saves`: whether a value that `having` of them have and `lacking` of them lack is worth sharing. `known`: also values
 * that need no line.
 */
export function factored(
  all: readonly Leaves[],
  saves: (counts: { readonly having: number; readonly lacking: number }, path: string) => boolean,
  known: readonly Leaves[] = all,
): Factored {
  const shared = new Map<string, unknown>();
  for (const path of new Set(all.flatMap((leaves) => [...leaves.keys()]))) {
    const { value, having } = mostCommon(all.flatMap((leaves) => (leaves.has(path) ? [leaves.get(path)] : [])));
    const lacking = all.filter((leaves) => !leaves.has(path)).length;
    // A device that only some of them have is no common value, however many of its settings they share.
    const slot = SLOT.exec(path)?.[0];
    if (slot !== undefined && all.some((leaves) => !hasBelow(leaves, slot))) continue;
    if (saves({ having, lacking }, path)) shared.set(path, value);
  }
  return { shared, rests: all.map((leaves, index) => beyond(leaves, shared, known[index])) };
}

/** A device of a VM: the list that it is in, and its slot. */
export const SLOT = /^(disks|nics|usb|pci|serial|virtiofs|numa_nodes)\.[^.]+/;

/** What has to be written in addition to `shared` to get `leaves`; a known value is preferred to `null`. */
function beyond(leaves: Leaves, shared: Leaves, known: Leaves = leaves): Leaves {
  const rest = new Map([...leaves].filter(([path, value]) => !shared.has(path) || !isSame(shared.get(path), value)));
  for (const path of shared.keys()) {
    const steps = path.split('.');
    const branches = steps.map((_, index) => steps.slice(0, index + 1).join('.'));
    // A single value replaces a map, and a map replaces a single value: `dhcp`, or an address.
    if (branches.some((branch) => leaves.has(branch)) || hasBelow(leaves, path)) continue;
    // `null` removes a whole branch if none of it is present.
    if (known.has(path)) rest.set(path, known.get(path));
    else rest.set(branches.find((branch) => !hasBelow(leaves, branch) && !hasBelow(known, branch)) ?? path, null);
  }
  return rest;
}

export function hasBelow(leaves: Leaves, branch: string): boolean {
  return [...leaves.keys()].some((path) => path === branch || path.startsWith(`${branch}.`));
}

export const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Of equally common values, the first. */
function mostCommon(values: readonly unknown[]): { readonly value: unknown; readonly having: number } {
  const counts = new Map<string, { value: unknown; having: number }>();
  for (const value of values) {
    const key = JSON.stringify(value);
    const known = counts.get(key) ?? { value, having: 0 };
    counts.set(key, { ...known, having: known.having + 1 });
  }
  return [...counts.values()].reduce((best, each) => (each.having > best.having ? each : best), {
    value: undefined,
    having: 0,
  });
}
