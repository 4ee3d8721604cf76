/**
 * The moves that bring VMs back within their rules: nodes they may be on, memory that stays free, `max_per_node`,
 * `apart_from`, and an even spread over zones and nodes. As few as possible, and none that only swaps equals: a VM that
 * breaks no rule moves only if its group becomes more even, or to make room for one that breaks a rule. Each move fits once
 * those before it are done. Pure.
 */
import { type Estate, PlacementLedger, type PlacementVm } from '../placement/ledger.ts';
import { reasonFor } from '../placement/words.ts';

/** A VM and the node that it is on. `estate` does not count what these VMs take. */
export interface PlacedVm {
  readonly vm: PlacementVm;
  readonly node: string;
  /** Something keeps it where it is: it counts, and stays. */
  readonly isFixed?: boolean;
}

export interface Move {
  readonly address: string;
  readonly from: string;
  readonly to: string;
  /** Why it leaves its node: sentences about that node; none if only its group becomes more even. */
  readonly broken: readonly string[];
  /** `41GiB free, fewest of this group`. */
  readonly reason: string;
}

export interface Balance {
  readonly moves: readonly Move[];
  /** VMs that still break a rule, because they fit nowhere else or must stay. */
  readonly left: readonly { readonly address: string; readonly node: string; readonly broken: readonly string[] }[];
  /** VMs block each other: once these moves are done, more are possible. */
  readonly isPartial: boolean;
}

export function fewestMoves(vms: readonly PlacedVm[], estate: Estate): Balance {
  const board = new Board(vms, estate);
  improved(board, { again: true });
  board.takeBackNeedless();
  const direct = board.direct();
  // Without one, a VM would have to move twice to let another one pass. Each moves once now, and the rest waits.
  let reached = direct ? board : new Board(vms, estate);
  let balance = reached.balance(direct ?? improved(reached, { again: false }));
  // Each round ends better, or as well with fewer moves, so there is a last one.
  for (;;) {
    const other = new Board(vms, estate);
    const moves = other.shorterWay(balance, reached.total()) ?? other.wayAround(reached.total());
    if (!moves) break;
    reached = other;
    balance = other.balance(moves);
  }
  return balance.moves.length > 0 && balance.left.length > 0 && !balance.isPartial
    ? { ...balance, isPartial: fewestMoves(reached.placed(), estate).moves.length > 0 }
    : balance;
}

interface Choice {
  /** Whether VMs that have moved may move again. */
  readonly again: boolean;
}

/** Moves until none improves anything. Every move improves the score, so it ends. */
function improved(board: Board, choice: Choice): Move[] {
  const moves: Move[] = [];
  for (let next = board.bestMove(choice); next; next = board.bestMove(choice)) moves.push(board.carryOut(next));
  return moves;
}

/** A search for fewer moves stops after this many attempts; then the moves found so far count. */
const MOST_POSITIONS = 3_000;

interface Search {
  /** A position with a worse score is none to end in. */
  readonly goal: Score;
  readonly mayBePartial: boolean;
  readonly budget: { left: number };
}

interface Candidate {
  readonly placed: PlacedVm;
  readonly to: string;
  readonly gain: Score;
}

/** VMs that break a rule, then how uneven the groups are over zones and over nodes. Lower is better, the first one counts most. */
type Score = readonly [broken: number, zones: number, nodes: number];

class Board {
  readonly #ledger: PlacementLedger;
  readonly #estate: Estate;
  readonly #vms: readonly PlacedVm[];
  readonly #nodeOf = new Map<PlacedVm, string>();
  readonly #on = new Map<string, Set<PlacedVm>>();

  constructor(vms: readonly PlacedVm[], estate: Estate) {
    this.#vms = vms;
    this.#estate = estate;
    this.#ledger = new PlacementLedger(estate);
    for (const placed of vms) this.#put(placed, placed.node);
  }

  /** The single move that improves most; among equals that of the smallest VM, then the first in the file. */
  bestMove({ again }: Choice = { again: true }): Candidate | undefined {
    let best: Candidate | undefined;
    for (const placed of this.#vms) {
      const { vm } = placed;
      const from = this.#at(placed);
      if (placed.isFixed || (!again && from !== placed.node)) continue;
      const isBroken = this.#isBroken(placed);
      for (const to of this.#elsewhere(placed)) {
        if (!isBroken && !(vm.rules.spread && this.#ledger.isBetterSpread(vm, from, to))) continue;
        const gain = this.#gain(placed, from, to);
        if (compareScores(gain, NO_GAIN) >= 0) continue;
        const order = best ? compareScores(gain, best.gain) || vm.memoryBytes - best.placed.vm.memoryBytes : -1;
        if (order < 0) best = { placed, to, gain };
      }
    }
    return best;
  }

  carryOut({ placed, to }: Pick<Candidate, 'placed' | 'to'>): Move {
    const from = this.#at(placed);
    const broken = this.#rulesBroken(placed);
    this.#lift(placed, from);
    const reason = reasonFor(placed.vm, to, this.#ledger);
    this.#put(placed, to);
    return { address: placed.vm.address, from, to, broken, reason };
  }

  /** The result, if these moves led here. */
  balance(moves: readonly Move[]): Balance {
    const left = this.#vms.flatMap((placed) => {
      const broken = this.#rulesBroken(placed);
      return broken.length > 0 ? [{ address: placed.vm.address, node: this.#at(placed), broken }] : [];
    });
    return { moves, left, isPartial: this.bestMove() !== undefined };
  }

  /** Undoes moves that a later move made needless, the largest first, because they would take longest. */
  takeBackNeedless(): void {
    const moved = this.#vms.filter((placed) => this.#at(placed) !== placed.node);
    for (const placed of moved.sort((a, b) => b.vm.memoryBytes - a.vm.memoryBytes)) {
      const now = this.#at(placed);
      if (this.#fits(placed, placed.node) && compareScores(this.#gain(placed, now, placed.node), NO_GAIN) <= 0) {
        this.carryOut({ placed, to: placed.node });
      }
    }
  }

  /**
   * Tries every sequence of fewer moves that ends at least as well, and then makes the moves that still improve something;
   * undefined if there is none, or too many to try.
   */
  shorterWay({ moves, isPartial }: Balance, goal: Score): readonly Move[] | undefined {
    const budget = { left: MOST_POSITIONS };
    for (let depth = 1; depth < moves.length; depth++) {
      const found = this.#within(depth, this.total(), { goal, mayBePartial: isPartial, budget });
      if (found || budget.left <= 0) return found;
    }
    return undefined;
  }

  /**
   * Where VMs still break rules although every single move was tried: the fewest moves, also of VMs that only make room, after
   * which fewer of them do; undefined if there are none, or too many to try.
   */
  wayAround([broken]: Score): readonly Move[] | undefined {
    const budget = { left: MOST_POSITIONS };
    const movable = this.#vms.filter(({ isFixed }) => !isFixed).length;
    for (let depth = 1; broken > 0 && depth <= movable && budget.left > 0; depth++) {
      const goal: Score = [broken - 1, INFINITE, INFINITE];
      const found = this.#within(depth, this.total(), { goal, mayBePartial: true, budget });
      if (found) return found;
    }
    return undefined;
  }

  /** The VMs where they are now. */
  placed(): PlacedVm[] {
    return this.#vms.map((each) => ({ ...each, node: this.#at(each) }));
  }

  /** `score` is that of the present position. */
  #within(depth: number, score: Score, search: Search): Move[] | undefined {
    const rest = compareScores(score, search.goal) > 0 ? undefined : this.#finished(search.mayBePartial);
    if (rest || depth === 0) return rest;
    for (const placed of this.#vms) {
      if (placed.isFixed || this.#at(placed) !== placed.node) continue;
      for (const to of this.#elsewhere(placed)) {
        if (search.budget.left-- <= 0) return undefined;
        const next = sumOf(score, this.#gain(placed, placed.node, to));
        if (depth === 1 && compareScores(next, search.goal) > 0) continue;
        const move = this.carryOut({ placed, to });
        const others = this.#within(depth - 1, next, search);
        if (others) return [move, ...others];
        this.#takeBack(placed);
      }
    }
    return undefined;
  }

  /** What still improves something here; undefined if that leads to a position with open moves. */
  #finished(mayBePartial: boolean): Move[] | undefined {
    const moves = improved(this, { again: false });
    if (mayBePartial || !this.bestMove()) return moves;
    const moved = new Set(moves.map(({ address }) => address));
    for (const placed of this.#vms) if (moved.has(placed.vm.address)) this.#takeBack(placed);
    return undefined;
  }

  #takeBack(placed: PlacedVm): void {
    this.#lift(placed, this.#at(placed));
    this.#put(placed, placed.node);
  }

  /** Of all VMs and groups. */
  total(): Score {
    let [broken, zones, nodes] = [0, 0, 0];
    for (const placed of this.#vms) {
      const { group, rules } = placed.vm;
      const node = this.#at(placed);
      if (this.#isBroken(placed)) broken++;
      if (!rules.spread) continue;
      // Summed over the members of a place, their number is its square.
      zones += this.#ledger.countInZone(group, node);
      nodes += this.#ledger.countOn(group, node);
    }
    return [broken, zones, nodes];
  }

  /** Other nodes that it fits on now, the best one first. */
  #elsewhere(placed: PlacedVm): string[] {
    const from = this.#at(placed);
    this.#ledger.remove(placed.vm, from);
    const fitting = this.#ledger.fitting(placed.vm).filter((to) => to !== from);
    this.#ledger.put(placed.vm, from);
    return fitting;
  }

  /** One move for each VM that is elsewhere now than it was, in an order in which each fits; undefined if there is none. */
  direct(): readonly Move[] | undefined {
    const start = new Board(this.#vms, this.#estate);
    const open = new Set(this.#vms.filter((placed) => this.#at(placed) !== placed.node));
    const moves: Move[] = [];
    for (let progress = true; progress; ) {
      progress = false;
      for (const placed of open) {
        const to = this.#at(placed);
        if (!start.#fits(placed, to)) continue;
        moves.push(start.carryOut({ placed, to }));
        open.delete(placed);
        progress = true;
      }
    }
    return open.size === 0 ? moves : undefined;
  }

  #fits(placed: PlacedVm, to: string): boolean {
    const from = this.#at(placed);
    this.#ledger.remove(placed.vm, from);
    const isFree = this.#ledger.fits(placed.vm, to);
    this.#ledger.put(placed.vm, from);
    return isFree;
  }

  #gain(placed: PlacedVm, from: string, to: string): Score {
    const before = this.#scoreOf(placed.vm, from, to);
    this.#lift(placed, from);
    this.#put(placed, to);
    const after = this.#scoreOf(placed.vm, from, to);
    this.#lift(placed, to);
    this.#put(placed, from);
    return [after[0] - before[0], after[1] - before[1], after[2] - before[2]];
  }

  /** Of the two nodes of the move: nothing else changes. */
  #scoreOf({ group, rules }: PlacementVm, from: string, to: string): Score {
    const concerned = [...(this.#on.get(from) ?? []), ...(this.#on.get(to) ?? [])];
    const broken = concerned.filter((each) => this.#isBroken(each)).length;
    if (!rules.spread) return [broken, 0, 0];
    const ledger = this.#ledger;
    const zones = ledger.countInZone(group, from) ** 2 + ledger.countInZone(group, to) ** 2;
    return [broken, zones, ledger.countOn(group, from) ** 2 + ledger.countOn(group, to) ** 2];
  }

  #isBroken(placed: PlacedVm): boolean {
    const node = this.#at(placed);
    this.#ledger.remove(placed.vm, node);
    const isFree = this.#ledger.fits(placed.vm, node);
    this.#ledger.put(placed.vm, node);
    return !isFree;
  }

  #rulesBroken(placed: PlacedVm): readonly string[] {
    const node = this.#at(placed);
    this.#ledger.remove(placed.vm, node);
    const refusals = this.#ledger.refusals(placed.vm, node);
    this.#ledger.put(placed.vm, node);
    return refusals;
  }

  #at(placed: PlacedVm): string {
    return this.#nodeOf.get(placed) ?? placed.node;
  }

  #put(placed: PlacedVm, node: string): void {
    this.#ledger.put(placed.vm, node);
    this.#nodeOf.set(placed, node);
    const here = this.#on.get(node) ?? new Set();
    here.add(placed);
    this.#on.set(node, here);
  }

  #lift(placed: PlacedVm, node: string): void {
    this.#ledger.remove(placed.vm, node);
    this.#on.get(node)?.delete(placed);
  }
}

const NO_GAIN: Score = [0, 0, 0];
const INFINITE = Number.POSITIVE_INFINITY;

function sumOf(a: Score, b: Score): Score {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
}

function compareScores(a: Score, b: Score): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
