/** What the two clients of a process read through, so that each thing is read once for as many resources as may share it. */
import type { Clock } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';
import { shareReads } from '../../pve/http/shared-reads.ts';

/** A plan reads one moment. A longer run reads again after this time, even if it changed nothing itself. */
const LOOK_AGE_MS = 60_000;

export interface ReadPaths {
  /** Of the client that acts: each resource is planned again when it is applied, and what hardly changes is read once for all. */
  readonly work: Transport;
  /** Of the client that observes. After a change it reads again only what may not be older. */
  readonly looks: Transport;
  /** Call this after a change. */
  forgetLooks(): void;
}

export function readPaths(transport: Transport, clock: Clock): ReadPaths {
  const accepted = shareReads(transport, clock, 0);
  // Over the other one: what that knows of a guest does not outlive a change, because all changes are sent through it.
  const reads = shareReads(accepted, clock, LOOK_AGE_MS);
  return {
    work: accepted,
    looks: reads,
    forgetLooks: () => {
      reads.forget();
      accepted.forgetGuests();
    },
  };
}
