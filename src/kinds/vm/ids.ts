/**
 * Which ids are spoken for within a run. The server reserves nothing before a clone's task runs, so VMs made side by side
 * would all be offered the same "next free" id; this keeps them apart. Strangers are noticed by the server's refusal.
 */
import type { Address } from '../../base/address.ts';

export class IdReservations {
  readonly #taken: Set<number>;
  readonly #holders = new Map<number, Address>();

  /** `taken`: ids known to be in use when the run began. */
  constructor(taken: Iterable<number> = []) {
    this.#taken = new Set(taken);
  }

  /** False where somebody else has the id; asking again for one's own is fine. */
  reserve(vmid: number, address: Address): boolean {
    const holder = this.#holders.get(vmid);
    if (holder !== undefined) return holder === address;
    if (this.#taken.has(vmid)) return false;
    this.#holders.set(vmid, address);
    return true;
  }

  /** A stranger turned out to have it. */
  markTaken(vmid: number): void {
    this.#holders.delete(vmid);
    this.#taken.add(vmid);
  }

  holderOf(vmid: number): Address | undefined {
    return this.#holders.get(vmid);
  }
}
