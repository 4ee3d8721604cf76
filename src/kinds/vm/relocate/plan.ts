/**
 * `drain` and `rebalance` as plans: which VMs of the stack move, where to and why, how each of them moves, and what
 * prevents it. Only moves: other changes in the file wait for an apply. Pure.
 */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { closest } from '../../../base/text/closest.ts';
import { counted, inNumber } from '../../../base/values/units.ts';
import type { KindPlan, RelocateContext, ResourcePlan } from '../../kind.ts';
import { NOTHING_PLANNED } from '../../kind.ts';
import type { Step } from '../../step.ts';
import { chooseNodes, type Refusal } from '../placement/choose.ts';
import { roomAfter } from '../placement/room.ts';
import { inRolls } from '../plan/roll/roll.ts';
import { fewestMoves, type Move } from './fewest-moves.ts';
import { type MoveRequest, moveOf, restartOf } from './move.ts';
import { isPinned, type Resident, residentsOf, whereOfResident } from './residents.ts';
import { estateWithout, siteOf } from './sites.ts';

export function planRelocation(context: RelocateContext): KindPlan {
  const { relocation } = context;
  const node = relocation.kind === 'drain' ? nodeProblem(relocation.node, context) : undefined;
  if (node) return { ...NOTHING_PLANNED, problems: [node] };
  const { residents, problems } = residentsOf(context);
  if (problems.length > 0) return { ...NOTHING_PLANNED, problems };
  const planned =
    relocation.kind === 'drain' ? drained(residents, relocation.node, context) : rebalanced(residents, context);
  const moving = new Set(planned.resources.map(({ change }) => change?.address));
  const resumed = residents.flatMap((resident) => (moving.has(resident.address) ? [] : restartOf(resident, context)));
  const resources = inRolls([...planned.resources, ...resumed], { ...context, isAsked: true });
  const room = roomAfter(resources, context.stack, context.observed, { neededBytes: new Map() });
  return { ...planned, resources, warnings: [...planned.warnings, ...unread(residents, context)], room };
}

function nodeProblem(name: string, { observed: { nodes } }: RelocateContext): Diagnostic | undefined {
  const row = nodes.get(name);
  const others = [...nodes.keys()].filter((each) => each !== name);
  if (row?.online && others.length > 0) return undefined;
  const guess = row ? undefined : closest(name, others);
  return new ProxwrightError({
    code: row ? 'CANNOT_MOVE' : 'MISSING_REFERENCE',
    where: { file: `drain ${name}` },
    detail: !row
      ? `The cluster has no node "${name}"; it has ${others.join(', ')}.`
      : row.online
        ? `${name} is the only node, so its VMs cannot move anywhere.`
        : `${name} is offline, and Proxmox moves no VM away from a node that is offline.`,
    hint: !row
      ? guess
        ? `Did you mean "${guess}"?`
        : 'Correct the name.'
      : row.online
        ? 'Add another node to the cluster.'
        : 'Start the node. VMs under HA are recovered by the HA manager.',
  }).diagnostic;
}

function drained(residents: readonly Resident[], node: string, context: RelocateContext): KindPlan {
  const { observed, isSelected } = context;
  const movers = residents.filter(({ address, vm }) => vm.node === node && isSelected(address));
  const problems = movers.flatMap((mover) => mover.problems);
  const targets = [...observed.nodes.keys()].filter((name) => name !== node);
  const candidates = movers.map((mover) => {
    const allowed = isPinned(mover) ? targets : targets.filter((name) => mover.nodes.includes(name));
    const sites = new Map(allowed.map((name) => [name, siteOf(mover, name, observed, context)] as const));
    return { ...mover.placement, sites };
  });
  const staying = residents.filter((resident) => !movers.includes(resident));
  const estate = estateWithout(movers, context);
  const { chosen, refused } = chooseNodes(candidates, {
    ...estate,
    residents: staying.map(({ vm, placement: { address, group, rules } }) => ({
      address,
      group,
      node: vm.node,
      rules,
    })),
  });
  const blocked = new Set<string>(movers.filter(({ problems }) => problems.length > 0).map(({ address }) => address));
  const homeless = refused.filter(({ vm }) => !blocked.has(vm.address));
  if (problems.length + homeless.length > 0) {
    return { ...NOTHING_PLANNED, problems: [...problems, ...homeless.map((each) => noNode(each, movers))] };
  }
  const resources = movers.flatMap((mover) => {
    const choice = chosen.get(mover.address);
    if (!choice) return [];
    return moveOf(mover, { target: choice.node, why: `${node} is drained.`, choice: choice.reason }, context);
  });
  return { resources, problems: [], warnings: [], checked: others(node, residents, context) };
}

function noNode({ vm, nodes }: Refusal, movers: readonly Resident[]): Diagnostic {
  const mover = movers.find(({ address }) => address === vm.address);
  return new ProxwrightError({
    code: 'CANNOT_MOVE',
    where: mover ? whereOfResident(mover) : { address: vm.address },
    detail: [
      `No node can take ${mover?.name ?? vm.address}:`,
      ...nodes.map(({ node, why }) => `  ${node}: ${why.join(' ')}`),
    ].join('\n'),
    hint: 'Make room on one of these nodes, name a storage that one of them has (--target-storage), or leave the VM out (--only).',
  }).diagnostic;
}

/** Guests that stay on the node, because this stack does not own them. */
function others(node: string, residents: readonly Resident[], { observed: { guests } }: RelocateContext): string[] {
  const ours = new Set(residents.map(({ vm }) => vm.vmid));
  const staying = [...guests.values()].filter((guest) => guest.node === node && !ours.has(guest.vmid));
  if (staying.length === 0) return [];
  const names = staying
    .slice(0, MOST_NAMED)
    .map(({ vmid, name }) => (name === undefined ? `${vmid}` : `${vmid} (${name})`));
  const more = staying.length > MOST_NAMED ? ', …' : '';
  return [
    `${counted(staying.length, 'guest')} of ${node} ${inNumber(staying.length, 'is not a VM', 'are not VMs')} of this stack and ${inNumber(staying.length, 'stays', 'stay')} there: ${names.join(', ')}${more}.`,
  ];
}

const MOST_NAMED = 5;

function rebalanced(residents: readonly Resident[], context: RelocateContext): KindPlan {
  const { observed, isSelected } = context;
  const placed = residents.map((resident) => {
    const { vm, placement, address } = resident;
    const sites = new Map(
      resident.nodes.map((name) => {
        const site = name === vm.node ? HERE : siteOf(resident, name, observed, context);
        return [name, site] as const;
      }),
    );
    const isHome = isPinned(resident) && resident.nodes.includes(vm.node);
    const isFixed = isHome || !isSelected(address) || resident.problems.length > 0 || !resident.desired;
    return { vm: { ...placement, sites }, node: vm.node, isFixed };
  });
  const { moves, left, isPartial } = fewestMoves(placed, estateWithout(residents, context));
  const byAddress = new Map<string, (typeof residents)[number]>(residents.map((each) => [each.address, each]));
  const resources = moves.flatMap((move) => {
    const resident = byAddress.get(move.address);
    return resident ? moveOf(resident, requestOf(move, resident), context) : [];
  });
  // A VM that leaves a node makes room for those that come after.
  const ordered = resources.map((plan, index) => {
    const to = moves[index]?.to;
    const before = resources.slice(0, index).filter((_, other) => moves[other]?.from === to);
    return afterAll(plan, before);
  });
  const warnings = left.flatMap(({ address, node, broken }): Diagnostic[] => {
    const resident = byAddress.get(address);
    if (!resident?.desired || !isSelected(resident.address) || isAtHome(resident)) return [];
    return [leftBehind(resident, node, broken)];
  });
  return { resources: ordered, problems: [], warnings: [...warnings, ...(isPartial ? [PARTIAL] : [])] };
}

const HERE = { ok: true, storage: new Map<string, number>() } as const;

const isAtHome = (resident: Resident) => isPinned(resident) && resident.nodes.includes(resident.vm.node);

function requestOf({ to, broken, reason, from }: Move, resident: Resident): MoveRequest {
  const why = isPinned(resident)
    ? `The file says ${to}.`
    : broken.length > 0
      ? `On ${from}: ${broken.join(' ')}`
      : 'Its group becomes more even.';
  return { target: to, why, choice: reason };
}

function leftBehind(resident: Resident, node: string, broken: readonly string[]): Diagnostic {
  const [problem] = resident.problems;
  return {
    ...new ProxwrightError({
      code: 'CANNOT_MOVE',
      where: whereOfResident(resident),
      detail: `${resident.name} stays on ${node} although its placement rules say otherwise: ${broken.join(' ')} ${problem ? problem.detail : 'No other node can take it now.'}`,
      ...(problem?.hint && { hint: problem.hint }),
    }).diagnostic,
    severity: 'warning',
  };
}

const PARTIAL: Diagnostic = {
  ...new ProxwrightError({
    code: 'CANNOT_MOVE',
    detail: 'Some VMs block each other: more of them can move once these moves are done.',
    hint: 'Run the command again afterwards.',
  }).diagnostic,
  severity: 'warning',
};

function afterAll(plan: ResourcePlan, before: readonly ResourcePlan[]): ResourcePlan {
  const [first, ...rest] = plan.steps;
  const ends = before.flatMap(({ steps }) => steps.at(-1)?.id ?? []);
  const steps: Step[] = first ? [{ ...first, needs: [...first.needs, ...ends] }, ...rest] : [];
  return { ...plan, steps };
}

/** "Not checked: needs X", once for each thing that the token may not read. */
function unread(residents: readonly Resident[], { observed }: RelocateContext): Diagnostic[] {
  if (residents.length === 0) return [];
  const [storages] = [...observed.storages.values()].flatMap((rows) => (rows.ok ? [] : [rows.needs]));
  const [bridges] = [...observed.bridges.values()].flatMap((rows) => (rows.ok ? [] : [rows.needs]));
  const isMemoryUnread = [...observed.nodes.values()].some(({ online, memory }) => online && memory === undefined);
  return [
    ...(storages === undefined ? [] : [notChecked('The storages of the nodes', storages)]),
    ...(bridges === undefined ? [] : [notChecked('The bridges of the nodes', bridges)]),
    ...(observed.ha?.ok === false ? [notChecked('Whether VMs are under HA', observed.ha.needs)] : []),
    ...(isMemoryUnread ? [notChecked('The memory of the nodes', 'Sys.Audit on /nodes')] : []),
  ];
}

function notChecked(what: string, needs: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail: `${what} could not be checked: the token needs ${needs}.`,
    facts: { needs },
  };
}
