/**
 * Which booting guests are worth asking. A sign of life that costs Proxmox almost nothing is whether a guest has sent a packet
 * yet, as the host counts at its NIC: one list of a node's VMs serves all waits on that node.
 */
import type { Clock, Ticks } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { Pve } from '../../../pve/index.ts';

/** No node is asked more often than this, however many VMs are waited for. */
const FRESH_MS = 900;

interface SenderList {
  readonly at: Ticks;
  readonly senders: Promise<ReadonlySet<number>>;
}

export class GuestSigns {
  readonly #pve: Pve;
  readonly #clock: Clock;
  readonly #lists = new Map<string, SenderList>();
  /** The one VM whose silent agent is asked. */
  #early: number | undefined;

  constructor(pve: Pve, clock: Clock) {
    this.#pve = pve;
    this.#clock = clock;
  }

  /**
   * Whether the agent of this VM may be asked although the guest shows no sign of life. Proxmox holds the question for three
   * seconds and answers as soon as the agent is up, which is both early and cheap, but it occupies a worker: so one VM at a
   * time has this right, until `release`.
   */
  mayAskEarly(vmid: number): boolean {
    this.#early ??= vmid;
    return this.#early === vmid;
  }

  release(vmid: number): void {
    if (this.#early === vmid) this.#early = undefined;
  }

  /** Also false if it cannot be read: then the guest's agent is asked, only later. */
  async hasSent(node: string, vmid: number): Promise<boolean> {
    const known = this.#lists.get(node);
    const now = this.#clock.ticks();
    const list = known && now - known.at < FRESH_MS ? known : { at: now, senders: this.#senders(node) };
    this.#lists.set(node, list);
    return (await list.senders).has(vmid);
  }

  /** Without a signal: one canceled wait must not cancel the answer for the others. */
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
