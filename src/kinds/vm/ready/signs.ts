/**
 * A sign of life that costs the server next to nothing: whether a guest has sent a packet yet, counted by the host at its
 * network card. One list of a node's VMs, read live, serves everybody who waits on that node.
 */
import type { Clock, Instant } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { Pve } from '../../../pve/index.ts';

/** However many wait, no node is asked more often than this. */
const FRESH_MS = 400;

interface SenderList {
  readonly at: Instant;
  readonly senders: Promise<ReadonlySet<number>>;
}

export class GuestSigns {
  readonly #pve: Pve;
  readonly #clock: Clock;
  readonly #sights = new Map<string, SenderList>();

  constructor(pve: Pve, clock: Clock) {
    this.#pve = pve;
    this.#clock = clock;
  }

  /** False also where it cannot be told: then the guest itself is asked, only later. */
  async hasSent(node: string, vmid: number): Promise<boolean> {
    const known = this.#sights.get(node);
    const now = this.#clock.now();
    const list = known && now - known.at < FRESH_MS ? known : { at: now, senders: this.#senders(node) };
    this.#sights.set(node, list);
    return (await list.senders).has(vmid);
  }

  /** Without anybody's signal: who leaves must not take the answer away from the others. */
  async #senders(node: string): Promise<ReadonlySet<number>> {
    try {
      const vms = await this.#pve.node(node).vms.list();
      return new Set(vms.flatMap(({ vmid, netout = 0 }) => (netout > 0 ? [vmid] : [])));
    } catch (error) {
      if (error instanceof ProxwrightError) return new Set();
      throw error;
    }
  }
}
