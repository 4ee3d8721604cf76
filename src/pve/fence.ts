/**
 * Whether this process may still change the cluster. A run sets a check that fails once it has lost the lock of its
 * state; it runs before every request that changes something, at the latest possible moment.
 */
export class Fence {
  #assertAllowed: () => void = () => {};

  /** Valid until the next call; the check must be cheap, because it runs right before bytes are sent. */
  guardedBy(assertAllowed: () => void): void {
    this.#assertAllowed = assertAllowed;
  }

  assertMayChange(): void {
    this.#assertAllowed();
  }
}
