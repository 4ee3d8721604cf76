/**
 * A transport that sends each read once, however many ask for it, until what was read is forgotten. For the times when
 * many callers look at the same cluster and nobody changes it. Failures and refusals by status are not remembered.
 */
import { type Clock, orCanceled, throwIfCanceled } from '../../base/clock.ts';
import type { Transport, WireResponse } from '../../base/transport.ts';

export interface SharedReads extends Transport {
  /** From here on everything is read anew; answers still on their way are not kept either. */
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
      if (known && clock.now() - known.at <= maxAgeMs) return orCanceled(known.answer, options.signal);
      // Without anybody's signal: who leaves must not take the answer away from the others.
      const answer = transport.send(request, { timeoutMs: options.timeoutMs });
      kept.set(request.target, { answer, at: clock.now() });
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
