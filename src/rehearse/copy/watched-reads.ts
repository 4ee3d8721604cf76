/** The reads of a rehearsal: each is sent once, only GETs are allowed, and their durations are measured. */
import type { Clock } from '../../base/clock.ts';
import { invariant } from '../../base/errors.ts';
import type { Transport } from '../../base/transport.ts';
import { shareReads } from '../../pve/http/shared-reads.ts';

export interface WatchedReads {
  readonly transport: Transport;
  /** Method and target of what was sent, in order. */
  readonly sent: readonly string[];
  /** How long an ordinary answer takes to come. */
  latencyMs(): number;
}

/** Longer than any command runs: within one rehearsal an answer does not change. */
const FOREVER_MS = 24 * 60 * 60_000;

export function onceEach(transport: Transport, clock: Clock): WatchedReads {
  const sent: string[] = [];
  const times: number[] = [];
  const watched: Transport = {
    send: async (request, options) => {
      const isLogin = request.method === 'POST' && request.target.endsWith('/access/ticket');
      invariant(request.method === 'GET' || isLogin, 'A rehearsal only reads.');
      sent.push(`${request.method} ${request.target}`);
      const since = clock.ticks();
      try {
        return await transport.send(request, options);
      } finally {
        times.push(clock.ticks() - since);
      }
    },
    close: () => transport.close(),
  };
  return {
    transport: shareReads(watched, clock, FOREVER_MS),
    sent,
    // Some reads make the server work, which the simulator models, too: an ordinary one is among the faster ones.
    latencyMs: () => times.toSorted((a, b) => a - b)[Math.floor(times.length / 4)] ?? 0,
  };
}
