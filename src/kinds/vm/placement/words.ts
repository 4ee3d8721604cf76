/** Why a node was chosen, and what it has free before and after a plan, for display. */
import type { NodeRoom } from '../../change.ts';
import { type PlacementLedger, type PlacementVm, printRoom } from './ledger.ts';

/** Why this node was chosen, computed before the VM is on it: `41GiB free, fewest of this group`. */
export function reasonFor(vm: PlacementVm, node: string, ledger: PlacementLedger): string {
  const others = [...vm.sites].flatMap(([name, { ok }]) => (ok && name !== node ? [name] : []));
  const fitting = others.filter((name) => ledger.refusals(vm, name).length === 0);
  const [bytes, cores] = [ledger.freeBytes(node), ledger.freeCores(node)];
  const room =
    vm.rules.by === 'cores' && cores !== undefined
      ? [`${cores} cores free`]
      : bytes === undefined
        ? []
        : [`${printRoom(bytes)} free`];
  if (fitting.length === 0) return [...room, 'the only node that fits'].join(', ');
  return [...room, spreadReason(vm, node, fitting, ledger)].filter((part) => part !== '').join(', ');
}

function spreadReason(vm: PlacementVm, node: string, others: readonly string[], ledger: PlacementLedger): string {
  const { group, rules } = vm;
  const most = rules.by === 'cores' ? 'most free cores' : 'most free memory';
  if (!rules.spread) return most;
  const counts = [
    {
      of: (name: string) => ledger.countInZone(group, name),
      where: ledger.zoneOf(node) === undefined ? '' : ' in its zone',
    },
    { of: (name: string) => ledger.countOn(group, name), where: '' },
  ];
  for (const { of, where } of counts) {
    const [own, all] = [of(node), others.map(of)];
    if (all.some((count) => count < own)) return 'keeps the whole plan within the room of the nodes';
    if (all.some((count) => count > own))
      return own === 0 ? `none of this group${where}` : `fewest of this group${where}`;
  }
  return most;
}

/** `memory 41GiB → 33GiB of 64GiB; local-lvm 200GiB → 168GiB`. */
export function roomWords({ memory, storages = [] }: NodeRoom): string {
  return [
    ...(memory ? [`memory ${between(memory)} of ${printRoom(memory.totalBytes)}`] : []),
    ...storages.map((each) => `${each.storage} ${between(each)}`),
  ].join('; ');
}

const between = ({ freeBytes, freeAfterBytes }: { readonly freeBytes: number; readonly freeAfterBytes: number }) =>
  `${printRoom(freeBytes)} → ${printRoom(freeAfterBytes)}`;
