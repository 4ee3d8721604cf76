/**
 * Reads `nodes` and `placement` of a VM, and `zones` of the stack: where a VM may run, and which nodes fail together.
 */
import type { Address } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import { advice, setting } from '../../base/hint.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { NODE_NOT_CHOSEN } from '../../kinds/vm/placement/candidates.ts';
import type { VmPlacement, Zone } from '../../kinds/vm/stack.ts';
import { child, descendant, type Entry, type LocatedMap, quote, scalar, withEntry, withoutKeys } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import { checkShape, parseTolerantly } from '../problems/issues.ts';
import { placementKeysSchema, zonesSchema } from '../stack-schema.ts';
import type { Group } from './groups.ts';

const KEYS: ReadonlySet<string> = new Set(Object.keys(placementKeysSchema.shape));

/** The tree without `nodes` and `placement`, and their values. If `nodes` is given, the plan chooses the node. */
export function splitPlacement(
  tree: LocatedMap,
  { at, address, findings }: { readonly at: Where; readonly address: Address; readonly findings: Findings },
): { readonly tree: LocatedMap; readonly placement?: VmPlacement } {
  const [node, nodes, placement] = ['node', 'nodes', 'placement'].map((key) => tree.entries.get(key));
  const rest = withoutKeys(tree, KEYS);
  if (!nodes && !placement) return { tree };
  const own = withoutKeys(tree, new Set([...tree.entries.keys()].filter((key) => !KEYS.has(key))));
  checkShape(placementKeysSchema, own, { subject: 'a VM', keyAt: at, findings, address });
  const { value } = parseTolerantly(placementKeysSchema, own);
  const add = (where: Where, detail: string, hint?: Parameters<Findings['add']>[0]['hint']) =>
    findings.add({ code: 'BAD_VALUE', where: { ...where, address }, detail, ...(hint !== undefined && { hint }) });
  if (!nodes) {
    if (node && placement) {
      add(
        placement.keyAt,
        '"placement" says how to choose among several nodes, but "node" names one.',
        advice`Write ${setting('nodes', 'all')} instead of node, or remove "placement".`,
      );
    }
    return { tree: rest };
  }
  if (node) {
    add(
      nodes.keyAt,
      '"node" and "nodes" cannot be used together: name the node, or let the plan choose among several.',
    );
    return { tree: rest };
  }
  reportTwice(own, add);
  const chosen = withEntry(rest, 'node', { keyAt: nodes.keyAt, value: scalar(NODE_NOT_CHOSEN, nodes.value.at) });
  return value?.nodes === undefined ? { tree: chosen } : { tree: chosen, placement: placementOf(value) };
}

function placementOf(value: NonNullable<ReturnType<typeof placementKeysSchema.parse>>): VmPlacement {
  const { nodes = 'all', placement = {} } = value;
  const {
    spread = true,
    by = 'memory',
    max_per_node: maxPerNode,
    keep_free: keepFree,
    apart_from: apart = [],
    ha_rules: haRules = true,
  } = placement;
  return {
    nodes,
    rules: {
      spread,
      by,
      ...(maxPerNode !== undefined && { maxPerNode }),
      ...(keepFree !== undefined && { keepFree }),
      apartFrom: typeof apart === 'string' ? [apart] : apart,
    },
    ...(!haRules && { haRules }),
  };
}

function reportTwice(own: LocatedMap, add: (where: Where, detail: string) => void): void {
  const list = child(own, 'nodes');
  const seen = new Set<unknown>();
  for (const item of list?.kind === 'list' ? list.items : []) {
    if (item.kind !== 'scalar') continue;
    if (seen.has(item.value)) add(item.at, `"nodes" names ${quote(String(item.value))} twice.`);
    seen.add(item.value);
  }
}

/** Expects every reference in `entry` to be replaced. A node belongs to one zone. */
export function readZones(entry: Entry | undefined, findings: Findings): readonly Zone[] {
  if (!entry) return [];
  const { keyAt, value } = entry;
  const zones = checkShape(zonesSchema, value, { subject: '"zones"', section: 'zones', keyAt, findings });
  if (!zones) return [];
  const homes = new Map<string, string>();
  return Object.entries(zones).map(([name, nodes]) => ({
    name,
    nodes: nodes.map((node, index) => {
      const at = descendant(value, [name, index])?.at ?? keyAt;
      const other = homes.get(node);
      if (other !== undefined) {
        const detail =
          other === name
            ? `The zone ${quote(name)} names the node ${quote(node)} twice.`
            : `The node ${quote(node)} is in the zones ${quote(other)} and ${quote(name)}; a node can be in only one zone.`;
        findings.add({ code: 'BAD_VALUE', where: at, detail });
      }
      homes.set(node, name);
      return { node, at };
    }),
  }));
}

/** `apart_from` names other groups of the stack. */
export function checkApart(groups: readonly Group[], findings: Findings): void {
  const names = groups.map(({ name }) => name);
  const reported = new Set<string>();
  for (const { name, members, specimen } of groups) {
    for (const member of members.length > 0 ? members : specimen ? [specimen] : []) {
      const list = descendant(member.tree, ['placement', 'apart_from']);
      for (const item of list?.kind === 'list' ? list.items : list ? [list] : []) {
        if (item.kind !== 'scalar' || typeof item.value !== 'string') continue;
        const { line, column } = item.at;
        const key = `${line}:${column} ${item.value === name ? name : ''}`;
        const isKnown = names.includes(item.value);
        if ((isKnown && item.value !== name) || reported.has(key)) continue;
        reported.add(key);
        findings.add({
          code: isKnown ? 'BAD_VALUE' : 'MISSING_REFERENCE',
          where: { ...item.at, address: member.address },
          detail: isKnown
            ? `The group ${quote(name)} cannot be kept apart from itself.`
            : `"placement.apart_from" names ${quote(item.value)}, which is not a group of this stack.`,
          hint: isKnown
            ? advice`To have one of them per node, write ${setting('max_per_node', 1)}.`
            : didYouMean(
                item.value,
                names.filter((other) => other !== name),
              ),
        });
      }
    }
  }
}
