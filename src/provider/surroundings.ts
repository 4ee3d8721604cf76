/**
 * What all resources and data sources of a configured provider share: the clients, the lines they wait in, the signal that
 * stops them. One process serves one command, and its resources are many.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Where } from '../base/diagnostics.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { PortProbe } from '../base/transport.ts';
import type { RunLimits } from '../engine/limits.ts';
import type { ImageSources } from '../kinds/image/steps.ts';
import type { Rollout, SecretReference } from '../kinds/stack.ts';
import type { IdReservations } from '../kinds/vm/ids.ts';
import type { Pve } from '../pve/index.ts';

export interface Surroundings {
  /** For everything that acts or rests on what is true right now. */
  readonly work: Pve;
  /** For looking: each thing is read once for all resources, until `forgetLooks`. */
  readonly looks: Pve;
  /** Something was changed: whoever looks next looks anew. */
  forgetLooks(): void;
  readonly rollout: Rollout;
  /** What a plan that cannot work is called: an error, a warning, or nothing. */
  readonly planChecks: 'error' | 'warn' | 'off';
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly ports: PortProbe;
  /** Fires on Ctrl-C and, within a call, when the host has given up the call. */
  readonly signal: AbortSignal;
  readonly limits: RunLimits;
  readonly ids: IdReservations;
  /** Gives `work` the door to local files and downloads; what was prepared for it goes when nobody needs it any more. */
  withImageSources<Result>(work: (sources: ImageSources) => Promise<Result>): Promise<Result>;
  readSecret(reference: SecretReference, where?: Where): Promise<Secret>;
  /** To the last byte. */
  readDocument(reference: SecretReference | { readonly text: string }, where?: Where): Promise<Secret>;
}

/** Undefined while the provider's own configuration holds values that are known only after apply. */
export type SurroundingsOf = () => Surroundings | undefined;

/** The same for one call, whose signal fires on Ctrl-C and with `call`. */
export function surroundingsDuring(call: AbortSignal, surroundingsOf: SurroundingsOf): SurroundingsOf {
  return () => {
    const surroundings = surroundingsOf();
    if (!surroundings) return undefined;
    const signal = AbortSignal.any([surroundings.signal, call]);
    // Every request of the call listens to it, and they are many.
    setMaxListeners(0, signal);
    return { ...surroundings, signal };
  };
}
