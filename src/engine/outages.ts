/**
 * Members of a group that become unavailable take turns: at most n at once, with a pause between them. Once one of them
 * has not become ready again, no other goes down.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import type { Outage } from '../kinds/step.ts';
import type { ResourceOutcome } from '../state/events.ts';

export type OutageEnd = { readonly outcome: ResourceOutcome } | { readonly stoppedBy: Address };

export class Outages {
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a member that is known to be down before its work is planned, so that no other one goes down meanwhile. Its
   * `run` takes over the place; the returned function releases it if there is no `run`.
   */
  hold(address: Address, name: string): () => void {
    const group = this.#groupOf(name);
    const leave = group.turns.occupy();
    const giveBack = () => {
      if (group.held.get(address) === giveBack) group.held.delete(address);
      leave();
    };
    group.held.set(address, giveBack);
    return giveBack;
  }

  /** First come, first served. Once the roll has stopped, the result is the member that stopped it. */
  async run(
    address: Address,
    outage: Outage,
    work: () => Promise<ResourceOutcome>,
    signal: AbortSignal,
  ): Promise<OutageEnd> {
    const group = this.#groupOf(outage.group);
    const giveBack = group.held.get(address);
    group.held.delete(address);
    const untilReady = async (): Promise<OutageEnd> => {
      let outcome: ResourceOutcome = 'failed';
      try {
        outcome = await work();
        return { outcome };
      } finally {
        group.lastEnd = this.#clock.ticks();
        if (outcome !== 'done' && outage.onFailure === 'stop') group.stoppedBy = address;
      }
    };
    // It is already down: waiting would only prolong the outage.
    if (outage.isOpen) return giveBack ? untilReady().finally(giveBack) : group.turns.runAtOnce(untilReady, signal);
    giveBack?.();
    const takeDown = async (): Promise<OutageEnd> => {
      await this.#pause(group, outage, signal);
      const { stoppedBy } = group;
      return stoppedBy === undefined ? untilReady() : { stoppedBy };
    };
    return group.turns.run(takeDown, signal, outage.atMost);
  }

  #groupOf(name: string): Group {
    const group = this.#groups.get(name) ?? new Group();
    this.#groups.set(name, group);
    return group;
  }

  async #pause(group: Group, { pauseMs }: Outage, signal: AbortSignal): Promise<void> {
    if (pauseMs <= 0 || group.lastEnd === undefined || group.stoppedBy !== undefined) return;
    const leftMs = group.lastEnd + pauseMs - this.#clock.ticks();
    if (leftMs > 0) await this.#clock.sleep(leftMs, signal);
  }
}

class Group {
  readonly turns = new Limiter(1);
  /** When a member was ready again, or given up, by the monotonic clock. */
  lastEnd: number | undefined;
  stoppedBy: Address | undefined;
  /** Members that are down and whose work has not begun. */
  readonly held = new Map<Address, () => void>();
}
