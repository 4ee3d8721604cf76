/** The caches of the two clients of a process, so that each thing is read once for all resources that may share it. */
import type { Clock } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';
import { shareReads } from '../../pve/http/shared-reads.ts';

/** A plan reads one moment. A longer run reads again after this time, even if it changed nothing itself. */
const LOOK_AGE_MS = 60_000;

export interface ReadPaths {
  /**
   * For the client that acts: each resource is planned again when it is applied, and what rarely changes is read once
   * for all.
   */
  readonly work: Transport;
  /** For the client that observes. After a change it reads again only what the change may have outdated. */
  readonly looks: Transport;
  /** Call this after a change. */
  forgetLooks(): void;
}

export function readPaths(transport: Transport, clock: Clock): ReadPaths {
  const accepted = shareReads(transport, clock, 0);
  // On top of the other one: its knowledge about a guest does not outlive a change, because all changes go through it.
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
