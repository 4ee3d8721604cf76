/**
 * Ids reserved within a run. Proxmox reserves nothing before a clone's task runs, so VMs that are created at the same time
 * would all get the same "next free" id. Ids taken by other clients show when Proxmox refuses a request.
 */
import type { Address } from '../../base/address.ts';

export class IdReservations {
  readonly #taken: Set<number>;
  readonly #holders = new Map<number, Address>();

  /** `taken`: ids that were in use when the run started. */
  constructor(taken: Iterable<number> = []) {
    this.#taken = new Set(taken);
  }

  /** False if the id is taken; reserving an id twice for the same address succeeds. */
  reserve(vmid: number, address: Address): boolean {
    const holder = this.#holders.get(vmid);
    if (holder !== undefined) return holder === address;
    if (this.#taken.has(vmid)) return false;
    this.#holders.set(vmid, address);
    return true;
  }

  /** Another client has it. */
  markTaken(vmid: number): void {
    this.#holders.delete(vmid);
    this.#taken.add(vmid);
  }

  holderOf(vmid: number): Address | undefined {
    return this.#holders.get(vmid);
  }
}
