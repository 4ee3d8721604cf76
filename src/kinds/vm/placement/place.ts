/**
 * The nodes of a stack's VMs: existing VMs stay, a VM whose creation was begun keeps its node, and the plan chooses for
 * the others among the nodes that can take them. Pure.
 */

import type { Diagnostic, Where } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { counted } from '../../../base/values/units.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Findings, PlanContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import { checkPlace, noSuchNode } from '../plan/checks/checks.ts';
import { countNeeds, isThin, roomKey } from '../plan/checks/room.ts';
import { chooseTemplate } from '../plan/choices/choose-template.ts';
import type { ResolvedVm } from '../stack.ts';
import { candidatesOf, NODE_NOT_CHOSEN } from './candidates.ts';
import { type Choice, chooseNodes, type Refusal } from './choose.ts';
import type { Estate, PlacementVm, Resident, Site } from './ledger.ts';
import { loadOf, nodesWithRoom } from './room.ts';

export interface PlacedStack {
  readonly stack: ResolvedStack;
  /** By address, for the VMs whose node this plan chooses. */
  readonly chosen: ReadonlyMap<string, Choice>;
  readonly problems: readonly Diagnostic[];
}

type PlaceContext = Pick<PlanContext, 'stack' | 'state' | 'observed' | 'isSelected' | 'options'>;

export function placeVms(context: PlaceContext): PlacedStack {
  const known = withKnownNodes(context.stack, context.state, context.observed);
  const { observed, isSelected, options } = context;
  const problems = unknownNodes(known, observed);
  const open = known.vms.filter((vm) => vm.fields.node === NODE_NOT_CHOSEN && isSelected(vm.address));
  if (open.length === 0 || problems.length > 0) return { stack: known, chosen: new Map(), problems };
  const estate = estateOf(known, context);
  const vms = open.map((vm) => placementVm(vm, observed));
  const { chosen, refused } = chooseNodes(vms, estate, keptNodes(open, context.state, options.keepNodes));
  const byAddress = new Map<string, ResolvedVm>(open.map((vm) => [vm.address, vm]));
  const nodes = new Map([...chosen].map(([address, { node }]) => [address, node]));
  const [hopeless, crowded] = partition(refused, ({ vm }) => isAboutNoNode(byAddress.get(vm.address), observed));
  // A problem that is the same on every node does not depend on the choice; the plan of the VM reports it.
  for (const { vm, nodes: all } of hopeless) nodes.set(vm.address, all[0]?.node ?? '');
  return {
    stack: withNodes(known, nodes),
    chosen,
    problems: [...problems, ...refusedGroups(crowded, byAddress)],
  };
}

/** VMs that exist, or whose creation was begun, with the node they have. */
export function withKnownNodes(stack: ResolvedStack, state: StackState, { vms }: Pick<Observed, 'vms'>): ResolvedStack {
  const nodes = new Map<string, string>();
  for (const { address, placement } of stack.vms) {
    const [recorded, found] = [state.vms[address], vms.get(address)];
    if (!placement || !recorded || found?.kind === 'gone') continue;
    if (found?.kind === 'present') nodes.set(address, found.vm.node);
    // A request to create it may have been sent to this node.
    else if (recorded.node !== '') nodes.set(address, recorded.node);
  }
  return withNodes(stack, nodes);
}

/** The stack with these nodes; images follow the VMs that use them. */
export function withNodes(stack: ResolvedStack, nodes: ReadonlyMap<string, string>): ResolvedStack {
  if (nodes.size === 0) return stack;
  return {
    ...stack,
    vms: stack.vms.map((vm) => {
      const node = nodes.get(vm.address);
      return node === undefined ? vm : { ...vm, fields: { ...vm.fields, node } };
    }),
    images: stack.images.map((image) => {
      const more = (image.chosenFor ?? []).flatMap((address) => nodes.get(address) ?? []);
      return more.length === 0 ? image : { ...image, nodes: [...new Set([...image.nodes, ...more])] };
    }),
  };
}

/** The choices of an earlier plan, and the nodes of VMs that no longer exist. */
function keptNodes(
  open: readonly ResolvedVm[],
  state: StackState,
  planned: Readonly<Record<string, string>> = {},
): Map<string, string> {
  return new Map(
    open.flatMap(({ address }) => {
      const node = planned[address] ?? state.vms[address]?.node;
      return node === undefined ? [] : [[address, node] as const];
    }),
  );
}

function placementVm(vm: ResolvedVm, observed: Observed): PlacementVm {
  const sites = new Map<string, Site>();
  let load = { memoryBytes: 0, cores: 0 };
  for (const node of candidatesOf(vm, observed.nodes)) {
    const { site, base } = siteOn(onNode(vm, node), observed);
    sites.set(node, site);
    if (base && (site.ok || load.cores === 0)) load = loadOf(vm.fields, base);
  }
  const { placement, address, group, fields } = vm;
  return {
    address,
    group,
    memoryBytes: fields.power === 'running' ? load.memoryBytes : 0,
    cores: load.cores,
    rules: placement?.rules ?? { spread: true, by: 'memory', apartFrom: [] },
    sites,
  };
}

const onNode = (vm: ResolvedVm, node: string): ResolvedVm => ({ ...vm, fields: { ...vm.fields, node } });

/** Whether the node has everything the VM names, and the space it takes there. */
function siteOn(
  vm: ResolvedVm,
  observed: Observed,
): { readonly site: Site; readonly base?: ReadonlyMap<string, string> } {
  const { node, clone } = vm.fields;
  const row = observed.nodes.get(node);
  if (!row?.online) return { site: { ok: false, why: ['It is offline.'] } };
  if (row.inMaintenance) return { site: { ok: false, why: ['It is in maintenance mode.'] } };
  const template = clone && chooseTemplate(vm, observed);
  if (template && !template.ok) return { site: { ok: false, why: [template.problem.detail] } };
  const base = template?.vm.current ?? new Map<string, string>();
  const scratch: Findings = { problems: [], neededBytes: new Map() };
  checkPlace({ vm, base, creating: true }, observed, scratch);
  if (scratch.problems.length > 0)
    return { site: { ok: false, why: scratch.problems.map(({ detail }) => detail) }, base };
  const needs: Findings = { problems: [], neededBytes: new Map() };
  countNeeds({ vm, creating: true }, base, needs);
  const storage = [...needs.neededBytes].map(([key, { bytes }]) => [roomKey(key, observed), bytes] as const);
  return { site: { ok: true, storage: new Map(storage) }, base };
}

function estateOf(stack: ResolvedStack, { state, observed, isSelected }: PlaceContext): Estate {
  const placed = stack.vms.filter(({ fields }) => fields.node !== NODE_NOT_CHOSEN);
  const exists = (vm: ResolvedVm) => observed.vms.get(vm.address)?.kind === 'present' && state.vms[vm.address];
  const residents = placed.filter((vm) => exists(vm) || isSelected(vm.address)).map(residentOf(observed));
  const rooms = new Map<string, number>();
  for (const [node, rows] of observed.storages) {
    for (const row of rows.ok ? rows.value : []) {
      if (row.availableBytes === undefined || isThin(row)) continue;
      rooms.set(row.shared ? `*/${row.storage}` : `${node}/${row.storage}`, row.availableBytes);
    }
  }
  return { nodes: nodesWithRoom(stack, observed), residents, rooms };
}

function residentOf({ vms }: Observed): (vm: ResolvedVm) => Resident {
  return ({ address, group, fields, placement }) => {
    const found = vms.get(address);
    const node = found?.kind === 'present' ? found.vm.node : fields.node;
    return { address, group, node, ...(placement && { rules: placement.rules }) };
  };
}

/** A name that no node has is a typo, in `nodes` as in `zones`. */
function unknownNodes({ vms, zones = [] }: ResolvedStack, { nodes }: Observed): Diagnostic[] {
  const said = new Set<string>();
  const missing = (node: string, where: Where): Diagnostic[] => {
    if (nodes.size === 0 || nodes.has(node) || said.has(node)) return [];
    said.add(node);
    return [noSuchNode(node, nodes, where)];
  };
  const named = vms.flatMap((vm) =>
    vm.placement && vm.placement.nodes !== 'all'
      ? vm.placement.nodes.flatMap((node) => missing(node, whereOf(vm, 'nodes')))
      : [],
  );
  return [...named, ...zones.flatMap((zone) => zone.nodes.flatMap(({ node, at }) => missing(node, at)))];
}

/** The template does not exist anywhere, or cannot be read: no node would help. */
function isAboutNoNode(vm: ResolvedVm | undefined, observed: Observed): boolean {
  if (!vm?.fields.clone) return false;
  const online = candidatesOf(vm, observed.nodes).filter((node) => observed.nodes.get(node)?.online);
  return (
    online.length > 0 &&
    online.every((node) => {
      const template = chooseTemplate(onNode(vm, node), observed);
      return !template.ok && !template.dependsOnNode;
    })
  );
}

/** One problem for each group whose members are refused for the same reasons. */
function refusedGroups(refused: readonly Refusal[], byAddress: ReadonlyMap<string, ResolvedVm>): Diagnostic[] {
  const groups = new Map<string, Refusal[]>();
  for (const refusal of refused) {
    const key = `${refusal.vm.group} ${JSON.stringify(refusal.nodes)}`;
    groups.set(key, [...(groups.get(key) ?? []), refusal]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    const vm = first && byAddress.get(first.vm.address);
    if (!first || !vm) return [];
    const more = others.length === 0 ? '' : ` and ${counted(others.length, 'other VM')} of its group`;
    const why = first.nodes.map(({ node, why: all }) => `${node}: ${all.join(' ')}`);
    return [
      new ProxwrightError({
        code: 'NO_NODE_FITS',
        where: whereOf(vm, 'nodes'),
        detail: `No node can take ${vm.address}${more}. ${why.join(' ')}`,
        hint: 'Name more nodes, relax "placement", reduce what the VM needs, or make room on a node.',
      }).diagnostic,
    ];
  });
}

function partition<Each>(all: readonly Each[], test: (each: Each) => boolean): [Each[], Each[]] {
  return [all.filter(test), all.filter((each) => !test(each))];
}
