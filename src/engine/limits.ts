/**
 * The concurrency limits of a run: resources in progress, copies per node and per storage, deletions, unavailable
 * members of a group, the pause between creations, and the order of waiting for guests. A process that applies many
 * plans shares one instance.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import type { Occupancy } from '../kinds/action.ts';
import { GuestSigns } from '../kinds/guest-signs.ts';
import type { Rollout } from '../kinds/stack.ts';
import type { Pve } from '../pve/index.ts';
import { Outages } from './outages.ts';
import { type ReadinessSchedule, readinessByArrival, readinessSchedule } from './ready/schedule.ts';

export interface LimitDeps {
  readonly pve: Pve;
  readonly clock: Clock;
}

export class RunLimits {
  /** Resources that are worked on at once. */
  readonly places: Limiter;
  readonly deletions: Limiter;
  readonly signs: GuestSigns;
  readonly readiness: ReadinessSchedule;
  /** Members of a group that become unavailable. */
  readonly outages: Outages;
  readonly #rollout: Rollout;
  readonly #clock: Clock;
  readonly #nodes = new Map<string, Limiter>();
  readonly #storages = new Map<string, Limiter>();
  readonly #creations = new Limiter(1);
  #lastCreation: number | undefined;

  private constructor(rollout: Rollout, { pve, clock }: LimitDeps, readiness: ReadinessSchedule) {
    this.#rollout = rollout;
    this.#clock = clock;
    this.outages = new Outages(clock);
    this.deletions = new Limiter(rollout.limits.destroys);
    this.places = new Limiter(rollout.limits.vms);
    this.signs = new GuestSigns(pve, clock);
    this.readiness = readiness;
  }

  /** For one plan: the order of waiting for its guests. */
  static ofPlan(rollout: Rollout, deps: LimitDeps, order: readonly Address[]): RunLimits {
    return new RunLimits(rollout, deps, readinessSchedule(rollout.readiness, order));
  }

  /** For resources that arrive one by one, in unknown number: waits in the order of their start. */
  static shared(rollout: Rollout, deps: LimitDeps): RunLimits {
    return new RunLimits(rollout, deps, readinessByArrival(rollout.readiness));
  }

  async run<T>(address: Address, occupancy: Occupancy, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    switch (occupancy.kind) {
      case 'none':
      case 'destroy':
        return work();
      case 'wait':
        return this.readiness.run(address, work, signal);
      case 'copy':
        return this.#copy(occupancy, work, signal);
    }
  }

  async #copy<T>(
    { nodes, storages, isCreation }: Extract<Occupancy, { kind: 'copy' }>,
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { clonesPerNode, clonesPerStorage } = this.#rollout.limits;
    // Always in the same order, so that two copies never wait for each other.
    const limiters = [
      ...[...nodes].sort().map((node) => limiterOf(this.#nodes, node, clonesPerNode)),
      ...[...storages].sort().map((storage) => limiterOf(this.#storages, storage, clonesPerStorage)),
    ];
    const enter = limiters.reduceRight<() => Promise<T>>(
      (inner, limiter) => () => limiter.run(inner, signal),
      async () => {
        if (isCreation) await this.#stagger(signal);
        return work();
      },
    );
    return enter();
  }

  /** At least `stagger` between two creations, whichever resources they belong to. */
  async #stagger(signal: AbortSignal): Promise<void> {
    if (this.#rollout.staggerMs <= 0) return;
    await this.#creations.run(async () => {
      const now = this.#clock.ticks();
      const earliest = this.#lastCreation === undefined ? now : this.#lastCreation + this.#rollout.staggerMs;
      if (earliest > now) await this.#clock.sleep(earliest - now, signal);
      this.#lastCreation = this.#clock.ticks();
    }, signal);
  }
}

function limiterOf(limiters: Map<string, Limiter>, name: string, limit: number): Limiter {
  const limiter = limiters.get(name) ?? new Limiter(limit);
  limiters.set(name, limiter);
  return limiter;
}
