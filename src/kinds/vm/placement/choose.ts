/**
 * Chooses the node of each VM that may be on several. Pure: the same VMs on the same estate get the same nodes, in whatever
 * order the cluster lists them. Nothing goes beyond the room that a node has left, and no other choice for a single VM
 * spreads its group more evenly. Existing VMs are residents: they count, and they stay where they are.
 */
import { byName, type Estate, PlacementLedger, type PlacementVm } from './ledger.ts';
import { reasonFor } from './words.ts';

export interface Choice {
  readonly node: string;
  /** `41GiB free, fewest of this group`. */
  readonly reason: string;
}

export interface Refusal {
  readonly vm: PlacementVm;
  /** Per node, why the VM does not fit there. */
  readonly nodes: readonly { readonly node: string; readonly why: readonly string[] }[];
}

export interface Choices {
  readonly chosen: ReadonlyMap<string, Choice>;
  /** VMs that fit nowhere. */
  readonly refused: readonly Refusal[];
}

/** How often the search may undo a choice before it gives up. */
const MOST_STEPS_BACK = 20_000;

/** `kept`: nodes that an earlier plan chose, by address. Each is chosen again if the VM still fits there. */
export function chooseNodes(
  vms: readonly PlacementVm[],
  estate: Estate,
  kept: ReadonlyMap<string, string> = new Map(),
): Choices {
  const ledger = new PlacementLedger(estate);
  const again = keepChoices(vms, ledger, kept);
  const open = hardestFirst(vms.filter(({ address }) => !again.has(address)));
  const [possible, impossible] = [open.filter(hasSite), open.filter((vm) => !hasSite(vm))];
  const refused: Refusal[] = impossible.map((vm) => refusalOf(vm, ledger));
  const found = search(possible, ledger) ?? greedy(possible, ledger, refused);
  if (refused.length === 0) spreadEvenly(possible, ledger, found);
  return { chosen: explained(vms, estate, new Map([...again, ...found])), refused };
}

const hasSite = ({ sites }: PlacementVm) => [...sites.values()].some(({ ok }) => ok);

function keepChoices(
  vms: readonly PlacementVm[],
  ledger: PlacementLedger,
  kept: ReadonlyMap<string, string>,
): Map<string, string> {
  const again = new Map<string, string>();
  for (const vm of vms) {
    const node = kept.get(vm.address);
    if (node === undefined || ledger.refusals(vm, node).length > 0) continue;
    ledger.put(vm, node);
    again.set(vm.address, node);
  }
  return again;
}

/** Those with the fewest nodes to choose from, then the largest; otherwise in the order of the file. */
function hardestFirst(vms: readonly PlacementVm[]): PlacementVm[] {
  const choices = new Map(vms.map((vm) => [vm, [...vm.sites.values()].filter(({ ok }) => ok).length]));
  return [...vms].sort(
    (a, b) => (choices.get(a) ?? 0) - (choices.get(b) ?? 0) || b.memoryBytes - a.memoryBytes || b.cores - a.cores,
  );
}

interface Level {
  /** Still to be tried, the best one first. */
  readonly nodes: string[];
  chosen?: string;
}

/**
 * Always takes the best node; where a VM fits nowhere, it undoes earlier choices. Undefined if it finds no assignment.
 */
function search(vms: readonly PlacementVm[], ledger: PlacementLedger): Map<string, string> | undefined {
  const levels: Level[] = [];
  let stepsBack = 0;
  for (let depth = 0; depth < vms.length; ) {
    const vm = vms[depth] as PlacementVm; // within the list
    const level = levels[depth] ?? { nodes: ledger.fitting(vm) };
    levels[depth] = level;
    const node = level.nodes.shift();
    if (node !== undefined) {
      ledger.put(vm, node);
      level.chosen = node;
      depth++;
      continue;
    }
    levels.length = depth;
    depth--;
    stepsBack++;
    if (depth < 0 || stepsBack > MOST_STEPS_BACK) {
      takeBack(vms, levels, ledger);
      return undefined;
    }
    takeBackOne(vms[depth], levels[depth], ledger);
  }
  return new Map(vms.map(({ address }, index) => [address, levels[index]?.chosen ?? '']));
}

function takeBack(vms: readonly PlacementVm[], levels: readonly Level[], ledger: PlacementLedger): void {
  for (const [index, level] of levels.entries()) takeBackOne(vms[index], level, ledger);
}

function takeBackOne(vm: PlacementVm | undefined, level: Level | undefined, ledger: PlacementLedger): void {
  if (!vm || level?.chosen === undefined) return;
  ledger.remove(vm, level.chosen);
  delete level.chosen;
}

/** What fits is placed, so that the refusals say what is left for the others. */
function greedy(vms: readonly PlacementVm[], ledger: PlacementLedger, refused: Refusal[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const vm of vms) {
    const [node] = ledger.fitting(vm);
    if (node === undefined) refused.push(refusalOf(vm, ledger));
    else {
      ledger.put(vm, node);
      found.set(vm.address, node);
    }
  }
  return found;
}

function refusalOf(vm: PlacementVm, ledger: PlacementLedger): Refusal {
  const nodes = [...vm.sites.keys()].sort(byName);
  return { vm, nodes: nodes.map((node) => ({ node, why: ledger.refusals(vm, node) })) };
}

/** Undone choices, and members of different sizes, can leave a group less even than possible. */
function spreadEvenly(vms: readonly PlacementVm[], ledger: PlacementLedger, found: Map<string, string>): void {
  // Every move makes the squares of the counts smaller, so it ends.
  for (let moved = true; moved; ) {
    moved = false;
    for (const vm of vms) {
      const from = found.get(vm.address);
      if (from === undefined || !vm.rules.spread) continue;
      ledger.remove(vm, from);
      const [to = from] = ledger.fitting(vm);
      ledger.put(vm, from);
      if (to === from || !ledger.isBetterSpread(vm, from, to)) continue;
      ledger.remove(vm, from);
      ledger.put(vm, to);
      found.set(vm.address, to);
      moved = true;
    }
  }
}

/** In the order of the file, as a reader of the plan follows it. */
function explained(
  vms: readonly PlacementVm[],
  estate: Estate,
  found: ReadonlyMap<string, string>,
): Map<string, Choice> {
  const ledger = new PlacementLedger(estate);
  const chosen = new Map<string, Choice>();
  for (const vm of vms) {
    const node = found.get(vm.address);
    if (node === undefined) continue;
    chosen.set(vm.address, { node, reason: reasonFor(vm, node, ledger) });
    ledger.put(vm, node);
  }
  return chosen;
}
