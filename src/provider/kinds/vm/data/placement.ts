/**
 * `proxwright_placement`: nodes for groups of VMs, chosen together. It is a data source because the host plans every
 * new resource twice, the second time in another process and without the result of the first plan. A choice that
 * depends on the cluster could then differ. The result of a data source is part of the plan.
 */
import { z } from 'zod';
import type { Address } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice } from '../../../../base/hint.ts';
import { observe } from '../../../../engine/index.ts';
import { emptyState, type StackState } from '../../../../kinds/recorded.ts';
import type { ResolvedStack } from '../../../../kinds/stack.ts';
import { vmFieldsSchema } from '../../../../kinds/vm/fields/index.ts';
import { NODE_NOT_CHOSEN } from '../../../../kinds/vm/placement/candidates.ts';
import { placeVms } from '../../../../kinds/vm/placement/place.ts';
import { zonesByNode } from '../../../../kinds/vm/placement/room.ts';
import type { VmRecord } from '../../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../../kinds/vm/stack.ts';
import { placementKeysSchema, zonesSchema } from '../../../../spec/stack-schema.ts';
import { EMPTY_STACK, ownerName } from '../../../adapter/engine-run.ts';
import { badValue } from '../../../configure/arguments.ts';
import { objectOf } from '../../../cty/value.ts';
import type { DataSourceDefinition } from '../../../data/define.ts';
import { argument } from '../../../data/filters.ts';
import { type Guest, type Look, readGuests } from '../../../data/inventory.ts';
import { computed } from '../../../schema/model.ts';
import { ownershipOf } from '../leftovers.ts';

const nodeNames = () => z.array(z.string().min(1)).min(1).optional();
const rules = placementKeysSchema.shape.placement
  .unwrap()
  .omit({ ha_rules: true })
  .extend({
    apart_from: argument(
      z.array(z.string().min(1)).optional(),
      'Other groups here that must not be on the same node.',
      {
        unordered: true,
      },
    ),
  });

/** What decides where a VM fits, as in `proxwright_vm`. */
const fitting = vmFieldsSchema.pick({
  clone: true,
  cpu: true,
  memory: true,
  disks: true,
  nics: true,
  pci: true,
  power: true,
});

const table = z.strictObject({
  nodes: argument(nodeNames(), 'Nodes to choose among. Default: all nodes of the cluster.', { unordered: true }),
  zones: argument(zonesSchema.optional(), 'Failure domains, such as racks, with their nodes.'),
  groups: z
    .record(
      z.string().min(1, 'A group needs a name.'),
      z.strictObject({
        names: argument(z.array(vmFieldsSchema.shape.name), 'Names of the VMs. A VM that exists stays on its node.'),
        nodes: argument(nodeNames(), 'Nodes to choose among, for this group.', { unordered: true }),
        placement: rules.describe('How to choose.').optional(),
        ...fitting.shape,
      }),
    )
    .describe(
      'Groups of interchangeable VMs, by a name for the group. The attributes besides `names`, `nodes` and `placement` are those of `proxwright_vm` that decide where a VM fits.',
    ),
});

type Groups = z.output<typeof table>['groups'];

export const placement: DataSourceDefinition<typeof table> = {
  description:
    'Chooses nodes for VMs: capacity-aware, spread over zones and nodes, the same for the same cluster. The plan shows the choice, and apply keeps it. A VM that exists stays where it is.',
  arguments: table,
  results: {
    node: computed(['map', 'string'], 'The node of each VM, by name.'),
    zone: computed(['map', 'string'], 'The zone of each VM, by name; VMs whose node is in no zone are left out.'),
    reason: computed(
      ['map', 'string'],
      'Why the node was chosen, by name; empty for VMs that exist, so an output of it changes with the plan after the creation.',
    ),
  },
  check: (_, { groups }) => groupProblems(groups),
  read: async (value, look) => {
    const stack = stackOf(value, look);
    const guests = (await readGuests(look)).filter(({ template }) => !template);
    const state = await stateOf(stack, guests, look);
    const { pve, signal } = look;
    const observed = await observe({ pve, stack, state, signal, neighbours: 'never', chooseIds: false });
    const placed = placeVms({ stack, state, observed, isSelected: () => true, options: {} });
    const [problem] = [...placed.problems, ...hopeless(stack, state, placed.chosen)];
    if (problem) return { problem: inGroup(problem, stack) };
    const zones = zonesByNode(stack);
    const byName = placed.stack.vms.map(({ fields: { name, node }, address }) => ({ name, node, address }));
    return {
      values: {
        node: objectOf(byName.map(({ name, node }) => [name, node])),
        zone: objectOf(byName.flatMap(({ name, node }) => (zones.has(node) ? [[name, zones.get(node) ?? null]] : []))),
        reason: objectOf(byName.map(({ name, address }) => [name, placed.chosen.get(address)?.reason ?? ''])),
      },
      warnings: placed.chosen.size > 0 ? unnamed(guests) : [],
    };
  },
};

function groupProblems(groups: Groups): ProxwrightError[] {
  const homes = new Map<string, string>();
  return Object.entries(groups).flatMap(([group, { names, placement: own }]) => [
    ...names.flatMap((name) => {
      const other = homes.get(name);
      homes.set(name, group);
      return other === undefined ? [] : [badValue(`groups.${group}.names`, `"${name}" is named twice.`)];
    }),
    ...(own?.apart_from ?? [])
      .filter((other) => other === group || !Object.hasOwn(groups, other))
      .map((other) =>
        badValue(
          `groups.${group}.placement.apart_from`,
          other === group ? `"${other}" cannot be kept apart from itself.` : `There is no group "${other}" here.`,
          other === group ? 'To have one VM per node, set max_per_node = 1.' : undefined,
        ),
      ),
  ]);
}

function stackOf({ nodes, zones = {}, groups }: z.output<typeof table>, { pve, rollout }: Look): ResolvedStack {
  const vms = Object.entries(groups).flatMap(([group, { names, nodes: own, placement: said = {}, ...fields }]) =>
    names.map((name, index): ResolvedVm => {
      const { spread = true, by = 'memory', max_per_node, keep_free, apart_from = [] } = said;
      return {
        address: addressOf(name),
        group,
        number: index + 1,
        fields: { ...vmFieldsSchema.parse({ name, node: NODE_NOT_CHOSEN }), ...fields },
        placement: {
          nodes: own ?? nodes ?? 'all',
          rules: {
            spread,
            by,
            ...(max_per_node !== undefined && { maxPerNode: max_per_node }),
            ...(keep_free !== undefined && { keepFree: keep_free }),
            apartFrom: apart_from,
          },
        },
        after: [],
        formerly: [],
        positions: {},
      };
    }),
  );
  const domains = Object.entries(zones).map(([name, members]) => ({
    name,
    nodes: members.map((node) => ({ node, at: { field: 'zones' } })),
  }));
  return { ...EMPTY_STACK, name: ownerName(pve), connection: {}, vms, zones: domains, rollout, outputs: {} };
}

const addressOf = (name: string) => `vm.${name}` as Address; // as in the ownership line of `proxwright_vm`

/** The VMs with these names. A VM with another owner in its ownership line only has the same name. */
async function stateOf({ name: owner, vms }: ResolvedStack, guests: readonly Guest[], look: Look): Promise<StackState> {
  const found = await Promise.all(
    vms.map(async ({ address, fields: { name } }) => {
      const same = guests.filter((guest) => guest.name === name);
      const owners = await Promise.all(same.map((guest) => ownerOf(guest, look)));
      const made = same.filter((_, index) => owners[index] === owner);
      const [only, second] = made.length > 0 ? made : same.filter((_, index) => owners[index] === undefined);
      return only && !second ? [[address, recordOf(only)] as const] : [];
    }),
  );
  return { ...emptyState(owner), vms: Object.fromEntries(found.flat()) };
}

/** Undefined if its notes do not say so, or cannot be read because its node is offline. */
async function ownerOf(guest: Guest, { pve, signal }: Look): Promise<string | undefined> {
  if (guest.status === 'unknown') return undefined;
  const { line } = await ownershipOf(pve, { ...guest, running: guest.status === 'running' }, signal);
  return line?.vmid === guest.vmid ? line.stack : undefined;
}

function recordOf({ vmid, node, name = '' }: Guest): VmRecord {
  return { vmid, node, name, phase: 'complete', lastApplied: {}, secrets: {}, macs: {}, addresses: {} };
}

/** Proxmox forgets the names of guests on a node that is offline. One of them may be a VM that is placed here. */
function unnamed(guests: readonly Guest[]): Diagnostic[] {
  const hidden = guests.filter(({ name }) => name === undefined);
  if (hidden.length === 0) return [];
  const which = hidden.map(({ vmid, node }) => `${vmid} on ${node}`).join(', ');
  return [
    {
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `Proxmox does not know the names of ${which} now. If one of them is a VM of this configuration, another node than its own was chosen.`,
      hint: advice`Do not apply a change of its node; plan again when its node is online.`,
    },
  ];
}

/** VMs for which no node would help, because their template does not exist. */
function hopeless(stack: ResolvedStack, { vms }: StackState, chosen: ReadonlyMap<string, unknown>): Diagnostic[] {
  return stack.vms
    .filter(({ address }) => !vms[address] && !chosen.has(address))
    .map(({ fields, address }) => {
      const { diagnostic } = new ProxwrightError({
        code: 'MISSING_REFERENCE',
        where: { address, field: 'clone.template' },
        detail: `The token cannot see a template "${fields.clone?.template}" on any node, so no node can be chosen for "${fields.name}".`,
        hint: 'If the same configuration creates the template, leave out clone here, and name the nodes that it is on: nodes = […].',
      });
      return diagnostic;
    });
}

/** At the attribute of the group that it is about. */
function inGroup(problem: Diagnostic, { vms }: ResolvedStack): Diagnostic {
  const { address, field = '' } = problem.where ?? {};
  const vm = vms.find((each) => each.address === address);
  return vm ? { ...problem, where: { field: `groups.${vm.group}.${field}` } } : problem;
}
