/**
 * A transport that caches reads: many callers that observe the same cluster share one request, until `forget`. For times
 * when no caller changes the cluster. It does not cache failures and error statuses.
 */
import { type Clock, orCanceled, throwIfCanceled } from '../../base/clock.ts';
import type { Transport, WireResponse } from '../../base/transport.ts';

export interface SharedReads extends Transport {
  /** Empties the cache; pending responses are not cached either. */
  forget(): void;
}

const OK = 200;

export function shareReads(transport: Transport, clock: Clock, maxAgeMs: number): SharedReads {
  let reads = new Map<string, { readonly answer: Promise<WireResponse>; readonly at: number }>();
  return {
    send: async (request, options = {}) => {
      if (request.method !== 'GET') return transport.send(request, options);
      if (options.signal) throwIfCanceled(options.signal);
      const kept = reads;
      const known = kept.get(request.target);
      if (known && clock.ticks() - known.at <= maxAgeMs) return orCanceled(known.answer, options.signal);
      // Without the signal of the caller: one canceled caller must not cancel the request of the others.
      const answer = transport.send(request, { timeoutMs: options.timeoutMs });
      kept.set(request.target, { answer, at: clock.ticks() });
      const drop = () => kept.delete(request.target);
      answer.then(({ status }) => status === OK || drop(), drop);
      return orCanceled(answer, options.signal);
    },
    forget: () => {
      reads = new Map();
    },
    close: () => transport.close(),
  };
}
