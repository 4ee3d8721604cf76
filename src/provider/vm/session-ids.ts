/**
 * Ids as one run of the engine sees them. What is reserved counts for all runs of the process; what a run has seen in use is
 * its own knowledge, because the VM that has an id now may make room for its successor a moment later.
 */
import type { Address } from '../../base/address.ts';
import { IdReservations } from '../../kinds/vm/ids.ts';

export class SessionIds extends IdReservations {
  readonly #shared: IdReservations;
  readonly #seen = new Set<number>();

  constructor(shared: IdReservations) {
    super();
    this.#shared = shared;
  }

  override reserve(vmid: number, address: Address): boolean {
    return !this.#seen.has(vmid) && this.#shared.reserve(vmid, address);
  }

  override markTaken(vmid: number): void {
    this.#seen.add(vmid);
  }

  override holderOf(vmid: number): Address | undefined {
    return this.#shared.holderOf(vmid);
  }
}
