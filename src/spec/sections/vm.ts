/** Turns one member's tree into VM fields, checked by the field table; keeps the usable parts of a faulty VM for the rules. */
import type { z } from 'zod';
import type { Address } from '../../base/address.ts';
import { closest } from '../../base/text/closest.ts';
import { vmFieldsSchema } from '../../kinds/vm/fields/index.ts';
import { hiddenFieldOf } from '../../kinds/vm/fields/secrets.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import { type LocatedMap, type Path, positionsOf, walk } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { parseTolerantly, pathOf, report } from '../problems/issues.ts';
import { salvage } from '../problems/salvage.ts';
import { keysAt } from '../problems/schema-walk.ts';
import { GROUP_KEYS } from '../stack-schema.ts';
import type { Member } from './groups.ts';
import { splitPlacement } from './placement.ts';

/** The readable part of a VM. Rules read only untainted paths, so that one mistake is reported once. */
export interface Candidate {
  readonly vm: ResolvedVm;
  /** Paths with a mistake or an unknown value; they are missing from the fields. */
  readonly tainted: readonly Path[];
}

export interface Relations {
  readonly after: readonly Address[];
  readonly formerly: readonly Address[];
}

export const UNRELATED: Relations = { after: [], formerly: [] };

/** What is being read: its name in messages, and its keys in addition to the fields. */
export interface Sort {
  readonly subject: string;
  readonly ownKeys: Iterable<string>;
}

const VM: Sort = { subject: 'a VM', ownKeys: GROUP_KEYS };

export function parseMember(member: Member, relations: Relations, findings: Findings, sort = VM): Candidate {
  const { address, group, number, at, vmids, addressRanges } = member;
  const { tree, placement } = splitPlacement(member.tree, { at, address, findings });
  const alsoKnown = (path: Path) =>
    path.length === 0 ? [...sort.ownKeys, 'nodes', 'placement'] : isDisk(path) ? ['image'] : [];
  const context = { subject: sort.subject, keyAt: at, findings, address, alsoKnown, elsewhere: ' or under "defaults"' };
  const { issues } = parseTolerantly(vmFieldsSchema, tree);
  for (const issue of issues) report(issue, vmFieldsSchema, tree, context);
  const { fields, tainted } = salvage(vmFieldsSchema, tree, PLACEHOLDERS);
  const sensitive = sensitivePaths(tree, address, findings);
  const vm: ResolvedVm = {
    address,
    group,
    number,
    fields,
    ...(placement && { placement }),
    ...(sensitive.length > 0 && { sensitive }),
    ...(vmids && fields.vmid === undefined && { vmids }),
    ...(addressRanges && { addressRanges }),
    ...relations,
    positions: { ...positionsOf(member.tree, at), ...(member.vmidsAt && { vmids: member.vmidsAt }) },
  };
  return { vm, tainted: [...tainted, ...issues.flatMap(mistypedImages)] };
}

/** The fields that a sensitive variable decides. If the value cannot be hidden, the variable is refused. */
function sensitivePaths(tree: LocatedMap, address: Address, findings: Findings): string[] {
  const paths = new Set<string>();
  walk(tree, (path, node) => {
    if (node.kind !== 'scalar' || !node.sensitive) return;
    const place = hiddenFieldOf(path);
    if (place === 'secret') return;
    if (place !== undefined) {
      paths.add(place);
      return;
    }
    findings.add({
      code: 'BAD_VALUE',
      where: { ...node.at, address, field: path.join('.') },
      detail: `"${path.join('.')}" cannot use a sensitive variable, because plans, the state or outputs need its value.`,
      hint: 'Declare the variable without sensitive: true, or use it only in description, tags, extra and cloud-init files.',
    });
  });
  return [...paths];
}

/** Placeholders for the two required fields of a VM. */
const PLACEHOLDERS = { name: 'unknown', node: 'unknown' };

function isDisk(path: Path): boolean {
  return path.length === 2 && path[0] === 'disks';
}

/** A mistyped `image` means `import_from` or `iso`, so report neither as missing. */
function mistypedImages(issue: z.core.$ZodIssue): readonly Path[] {
  const path = pathOf(issue);
  if (issue.code !== 'unrecognized_keys' || !isDisk(path)) return [];
  const known = ['image', ...keysAt(vmFieldsSchema, path)];
  return issue.keys.some((key) => closest(key, known) === 'image')
    ? [
        [...path, 'import_from'],
        [...path, 'iso'],
      ]
    : [];
}
