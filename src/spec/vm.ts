/** One member's tree → the VM's fields, checked by the field table; also as much of a faulty VM as the rules can use. */
import type { Address } from '../base/address.ts';
import { invariant } from '../base/assert.ts';
import { closest } from '../base/closest.ts';
import type { Where } from '../base/diagnostics.ts';
import { type VmFields, vmFieldsSchema } from '../resources/vm/fields.ts';
import type { Findings } from './findings.ts';
import type { Member } from './groups.ts';
import { parseTolerantly, pathOf, report } from './issues.ts';
import { descendant, type LocatedMap, type Path, toPlain, walk, withoutPath } from './located.ts';
import { homeOf, keysAt } from './schema-walk.ts';
import { GROUP_KEYS } from './stack-schema.ts';
import type { ResolvedVm } from './types.ts';

/** A VM as far as it could be read. Rules look only at what is not tainted, so that one mistake is told once. */
export interface Candidate {
  readonly vm: ResolvedVm;
  /** Paths that hold a mistake or something unknown; they are missing from the fields. */
  readonly tainted: readonly Path[];
}

export function parseMember(
  member: Member,
  relations: { readonly after: readonly Address[]; readonly formerly: readonly Address[] },
  findings: Findings,
): Candidate {
  const { tree, address, group, number, at, vmids } = member;
  const context = { subject: 'a VM', keyAt: at, findings, address, alsoKnown: [...GROUP_KEYS] };
  for (const issue of parseTolerantly(vmFieldsSchema, tree).issues) report(issue, vmFieldsSchema, tree, context);
  const { fields, tainted } = salvage(tree);
  const vm: ResolvedVm = {
    address,
    group,
    number,
    fields,
    ...(vmids && fields.vmid === undefined && { vmids }),
    ...relations,
    positions: positionsOf(tree, at),
  };
  return { vm, tainted };
}

/** Stand in for the two fields that no VM can lack; both are tainted then. */
const PLACEHOLDERS = { name: 'unknown', node: 'unknown' };

/** Takes out whatever is faulty, and what cannot be without it, until the rest passes. A VM without faults stays whole. */
function salvage(tree: LocatedMap): { readonly fields: VmFields; readonly tainted: readonly Path[] } {
  const tainted: Path[] = [];
  let rest = tree;
  const takeOut = (path: Path) => {
    const whole = wholeOf(rest, path);
    tainted.push(whole);
    rest = withoutPath(rest, whole);
  };
  for (const path of unknownPaths(tree)) if (descendant(rest, path)) takeOut(path);
  for (;;) {
    const lacking = Object.entries(PLACEHOLDERS).filter(([key]) => !rest.entries.has(key));
    for (const [key] of lacking) if (!tainted.some(([first]) => first === key)) tainted.push([key]);
    const result = vmFieldsSchema.safeParse({ ...Object.fromEntries(lacking), ...(toPlain(rest) as object) });
    if (result.success) return { fields: result.data, tainted };
    const before = rest;
    for (const issue of result.error.issues) {
      const path = pathOf(issue);
      const strangers = issue.code === 'unrecognized_keys' ? issue.keys : undefined;
      tainted.push(...(strangers ?? []).flatMap((key) => meantPaths(key, path)));
      const faulty = strangers?.map((key) => [...path, key]) ?? [path];
      for (const each of faulty) {
        if (descendant(rest, each)) takeOut(each);
        else if (each.length > 1 && descendant(rest, each.slice(0, -1))) takeOut(each.slice(0, -1));
      }
    }
    invariant(rest !== before, 'Taking out a faulty field must change the VM.');
  }
}

/** A mistyped key stands for another one, so that one is not missing. */
function meantPaths(key: string, path: Path): readonly Path[] {
  const guess = closest(key, keysAt(vmFieldsSchema, path));
  const home = path.length === 0 ? homeOf(key, vmFieldsSchema) : undefined;
  return [...(guess === undefined ? [] : [[...path, guess]]), ...(home === undefined ? [] : [[home, key]])];
}

/** An element cannot leave its list without moving the others, so the list goes with it. */
function wholeOf(tree: LocatedMap, path: Path): Path {
  const list = path.findIndex((_, index) => descendant(tree, path.slice(0, index))?.kind === 'list');
  return list < 0 ? path : path.slice(0, list);
}

function unknownPaths(tree: LocatedMap): readonly Path[] {
  const paths: Path[] = [];
  walk(tree, (path, node) => {
    if (node.kind === 'unknown') paths.push(path);
  });
  return paths;
}

function positionsOf(tree: LocatedMap, at: Where): Readonly<Record<string, Where>> {
  const positions: Record<string, Where> = {};
  walk(tree, (path, node) => {
    positions[path.join('.')] = node.at;
  });
  return { ...positions, '': at };
}
