/**
 * Whether this process may still change the cluster. A run sets the question, which fails once it has lost the lock of its
 * state; it is asked for every request that changes something, at the latest possible moment.
 */
export class Fence {
  #assertAllowed: () => void = () => {};

  /** Until the next call; the question must be cheap, because it is asked right before bytes are sent. */
  guardedBy(assertAllowed: () => void): void {
    this.#assertAllowed = assertAllowed;
  }

  assertMayChange(): void {
    this.#assertAllowed();
  }
}
