/**
 * A transport that caches reads: many callers that observe the same cluster share one request, until `forget`. By default
 * every read is shared for `maxAgeMs`, for times when no caller changes the cluster; with 0, only reads whose caller accepts
 * an older response. It does not cache failures and error statuses.
 */
import { type Clock, orCanceled, throwIfCanceled } from '../../base/clock.ts';
import type { Transport, WireRequest, WireResponse } from '../../base/transport.ts';

export interface SharedReads extends Transport {
  /** Empties the cache; pending responses are not cached either. */
  forget(): void;
  /** Forgets the lists of guests. */
  forgetGuests(): void;
}

const OK = 200;
const GUEST_LIST = '/cluster/resources';
const GUEST = /\/nodes\/[^/]+\/qemu\/\d+/;

export function shareReads(transport: Transport, clock: Clock, maxAgeMs: number): SharedReads {
  let reads = new Map<string, { readonly answer: Promise<WireResponse>; readonly at: number }>();
  /** A change to a guest removes its cached answers. */
  const changing = async (request: WireRequest, send: () => Promise<WireResponse>): Promise<WireResponse> => {
    const guest = GUEST.exec(request.target)?.[0];
    const forgetGuest = () => {
      for (const target of guest === undefined ? [] : reads.keys())
        if (GUEST.exec(target)?.[0] === guest) reads.delete(target);
    };
    forgetGuest();
    return send().finally(forgetGuest);
  };
  return {
    send: async (request, options = {}) => {
      const ageMs = Math.max(maxAgeMs, options.maxAgeMs ?? 0);
      if (request.method !== 'GET') return changing(request, () => transport.send(request, options));
      if (ageMs === 0) return transport.send(request, options);
      if (options.signal) throwIfCanceled(options.signal);
      const kept = reads;
      const known = kept.get(request.target);
      if (known && clock.ticks() - known.at <= ageMs) return orCanceled(known.answer, options.signal);
      // Without the signal of the caller: one canceled caller must not cancel the request of the others.
      const answer = transport.send(request, { timeoutMs: options.timeoutMs, maxAgeMs: options.maxAgeMs });
      kept.set(request.target, { answer, at: clock.ticks() });
      const drop = () => kept.delete(request.target);
      answer.then(({ status }) => status === OK || drop(), drop);
      return orCanceled(answer, options.signal);
    },
    forget: () => {
      reads = new Map();
    },
    forgetGuests: () => {
      for (const target of reads.keys()) if (target.includes(GUEST_LIST)) reads.delete(target);
    },
    close: () => transport.close(),
  };
}
