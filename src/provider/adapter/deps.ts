/**
 * What all resources and data sources of a configured provider share: the clients, the limits, the signals that stop
 * them. One process serves one command and many resources.
 */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../../base/clock.ts';
import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Secret } from '../../base/secret.ts';
import type { PortProbe } from '../../base/transport.ts';
import type { IdReservations, RunLimits, SessionDeps } from '../../engine/index.ts';
import type { Rollout, SecretReference } from '../../kinds/stack.ts';
import type { Pve } from '../../pve/index.ts';

/** Local files and downloads, as the engine reads them. */
export type Sources = NonNullable<SessionDeps['sources']>;

export interface Deps {
  /** For everything that acts, or that depends on what is true right now. */
  readonly work: Pve;
  /** For observing: each thing is read once for all resources, until `forgetLooks`. */
  readonly looks: Pve;
  /** Call this after a change: the next look reads the cluster again. */
  forgetLooks(): void;
  readonly rollout: Rollout;
  /** How a plan that cannot work is reported: as an error, as a warning, or not at all. */
  readonly planChecks: 'error' | 'warn' | 'off';
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly ports: PortProbe;
  /** Fires on Ctrl-C. Lookups that several calls share listen to this one. */
  readonly stop: AbortSignal;
  /** Fires on Ctrl-C and, within a call, when the host has canceled the call. */
  readonly signal: AbortSignal;
  readonly limits: RunLimits;
  readonly ids: IdReservations;
  /** A name that no other engine run of this process has. */
  runLabel(): string;
  /** Gives `work` access to local files and downloads. The last user removes what was unpacked for it. */
  withSources<Result>(work: (sources: Sources) => Promise<Result>): Promise<Result>;
  readSecret(reference: SecretReference, where?: Where): Promise<Secret>;
  /** Reads a document byte for byte. */
  readDocument(reference: SecretReference | { readonly text: string }, where?: Where): Promise<Secret>;
}

/** Undefined while the provider's own configuration holds values that are known only after apply. */
export type DepsOf = () => Deps | undefined;

/** The same for one call, whose signal also fires with `call`. */
export function depsDuring(call: AbortSignal, depsOf: DepsOf): Deps | undefined {
  const deps = depsOf();
  if (!deps) return undefined;
  const signal = AbortSignal.any([deps.stop, call]);
  // Every request of the call listens to it, and there are many.
  setMaxListeners(0, signal);
  return { ...deps, signal };
}

/** For calls that need a server. */
export function requiredDeps(deps: Deps | undefined): Deps {
  if (deps) return deps;
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: 'The configuration of the provider is not known yet, so no server can be asked.',
    hint: 'Give endpoint and token values that are known before apply, or first apply what they depend on: -target.',
  });
}
