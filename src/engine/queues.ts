/**
 * Who may work at the same time: so many VMs at all, so many clones on a node and on a storage, a pause between creations,
 * few destroys. First come, first served; whoever is canceled leaves the line.
 */
import type { Clock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import type { Rollout } from '../spec/types.ts';

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
  readonly #nodes = new Map<string, Limiter>();
  readonly #storages = new Map<string, Limiter>();
  readonly #destroys: Limiter;
  readonly #creations = new Limiter(1);
  #lastCreation: number | undefined;

  constructor(rollout: Rollout, clock: Clock) {
    this.#rollout = rollout;
    this.#clock = clock;
    this.#destroys = new Limiter(rollout.limits.destroys);
  }

  async run<T>(occupancy: Occupancy, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (occupancy.kind === 'other') return work();
    if (occupancy.kind === 'destroy') return this.#destroys.run(work, signal);
    const { clonesPerNode, clonesPerStorage } = this.#rollout.limits;
    // Always in the same order, so that two clones never wait for each other.
    const lines = [
      queueOf(this.#nodes, occupancy.node, clonesPerNode),
      ...[...occupancy.storages].sort().map((storage) => queueOf(this.#storages, storage, clonesPerStorage)),
    ];
    const enter = lines.reduceRight<() => Promise<T>>(
      (inner, line) => () => line.run(inner, signal),
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
    await this.#creations.run(async () => {
      const now = this.#clock.now();
      const earliest = this.#lastCreation === undefined ? now : this.#lastCreation + this.#rollout.staggerMs;
      if (earliest > now) await this.#clock.sleep(earliest - now, signal);
      this.#lastCreation = this.#clock.now();
    }, signal);
  }
}

function queueOf(queues: Map<string, Limiter>, name: string, size: number): Limiter {
  const queue = queues.get(name) ?? new Limiter(size);
  queues.set(name, queue);
  return queue;
}
