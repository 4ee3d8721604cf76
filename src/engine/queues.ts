/**
 * Who may work at the same time: so many VMs at all, so many clones on a node and on a storage, a pause between creations,
 * few destroys. First come, first served; whoever is canceled leaves the line.
 */
import { type Clock, canceledBy, throwIfCanceled } from '../base/clock.ts';
import type { Rollout } from '../spec/types.ts';

export class Queue {
  readonly #size: number;
  #busy = 0;
  readonly #waiting: { readonly start: () => void; readonly cancel: (error: Error) => void }[] = [];

  constructor(size: number) {
    this.#size = Math.max(1, size);
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    throwIfCanceled(signal);
    if (this.#busy < this.#size) this.#busy++;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.start();
      else this.#busy--;
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = {
        start: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
        cancel: reject,
      };
      const onAbort = () => {
        const position = this.#waiting.indexOf(entry);
        if (position >= 0) this.#waiting.splice(position, 1);
        reject(canceledBy(signal));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(entry);
    });
  }
}

/** What a step occupies while it runs. */
export interface Occupancy {
  /** A transfer shares the lines of clones, and is no creation. */
  readonly kind: 'clone' | 'transfer' | 'destroy' | 'other';
  readonly node: string;
  readonly storages: readonly string[];
}

export class RolloutQueues {
  readonly #rollout: Rollout;
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Queue>();
  readonly #storages = new Map<string, Queue>();
  readonly #destroys: Queue;
  readonly #creations = new Queue(1);
  #lastCreation: number | undefined;

  constructor(rollout: Rollout, clock: Clock) {
    this.#rollout = rollout;
    this.#clock = clock;
    this.#destroys = new Queue(rollout.limits.destroys);
  }

  async run<T>(occupancy: Occupancy, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (occupancy.kind === 'other') return work();
    if (occupancy.kind === 'destroy') return this.#destroys.run(signal, work);
    const { clonesPerNode, clonesPerStorage } = this.#rollout.limits;
    // Always in the same order, so that two clones never wait for each other.
    const lines = [
      queueOf(this.#nodes, occupancy.node, clonesPerNode),
      ...[...occupancy.storages].sort().map((storage) => queueOf(this.#storages, storage, clonesPerStorage)),
    ];
    const enter = lines.reduceRight<() => Promise<T>>(
      (inner, line) => () => line.run(signal, inner),
      async () => {
        if (occupancy.kind === 'clone') await this.#stagger(signal);
        return work();
      },
    );
    return enter();
  }

  /** At least `stagger` between two creations, whoever makes them. */
  async #stagger(signal: AbortSignal): Promise<void> {
    if (this.#rollout.staggerMs <= 0) return;
    await this.#creations.run(signal, async () => {
      const now = this.#clock.now();
      const earliest = this.#lastCreation === undefined ? now : this.#lastCreation + this.#rollout.staggerMs;
      if (earliest > now) await this.#clock.sleep(earliest - now, signal);
      this.#lastCreation = this.#clock.now();
    });
  }
}

function queueOf(queues: Map<string, Queue>, name: string, size: number): Queue {
  const queue = queues.get(name) ?? new Queue(size);
  queues.set(name, queue);
  return queue;
}
