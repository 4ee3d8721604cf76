/**
 * The lines in which the VMs of a run wait — for a place to work in, for storages and nodes, for their turn to be awaited —
 * and the one look at a node that serves all who wait there.
 */
import type { Clock } from '../base/clock.ts';
import { Limiter } from '../base/limiter.ts';
import type { Pve } from '../pve/index.ts';
import type { ResolvedStack, Rollout } from '../spec/types.ts';
import { RolloutQueues } from './queues.ts';
import { type ReadinessSchedule, readinessByArrival, readinessSchedule, waitOrder } from './ready/schedule.ts';
import { GuestSigns } from './ready/signs.ts';

export interface Lanes {
  readonly queues: RolloutQueues;
  readonly places: Limiter;
  readonly readiness: ReadinessSchedule;
  readonly signs: GuestSigns;
}

export interface LaneDoors {
  readonly pve: Pve;
  readonly clock: Clock;
}

/** Of one stack: its VMs are awaited in the order of the file. */
export function lanesOfStack({ rollout, vms }: ResolvedStack, doors: LaneDoors): Lanes {
  return { ...commonLanes(rollout, doors), readiness: readinessSchedule(rollout.readiness, waitOrder(vms)) };
}

/** For VMs that come one by one, nobody knows how many: they are awaited in the order in which they were started. */
export function sharedLanes(rollout: Rollout, doors: LaneDoors): Lanes {
  return { ...commonLanes(rollout, doors), readiness: readinessByArrival(rollout.readiness) };
}

function commonLanes(rollout: Rollout, { pve, clock }: LaneDoors): Omit<Lanes, 'readiness'> {
  return {
    queues: new RolloutQueues(rollout, clock),
    places: new Limiter(rollout.limits.vms),
    signs: new GuestSigns(pve, clock),
  };
}
