/** Makes what all resources of the process share, from the settings and a connection. Sends nothing. */

import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Environment } from '../../base/processes.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { KnownSecrets, type Secret } from '../../base/secret.ts';
import type { PortProbe, Transport } from '../../base/transport.ts';
import { IdReservations, RunLimits } from '../../engine/index.ts';
import { createImageSources } from '../../local/image-sources.ts';
import { readDocument, readSecret } from '../../local/secret.ts';
import { portProbeFor } from '../../local/simulator.ts';
import { shareReads } from '../../pve/http/shared-reads.ts';
import { createHttpsTransport, createPve, type HttpsTransportOptions, type Pve } from '../../pve/index.ts';
import type { Deps } from '../adapter/deps.ts';
import type { Connection } from './connection.ts';
import type { Settings } from './settings.ts';

/** What a provider gets from the process that runs it. Defaults to the real implementations. */
export interface ProcessDeps {
  readonly log: Logger;
  readonly environment: Environment;
  /** Every secret in here is redacted from what the process writes. */
  readonly secrets?: KnownSecrets;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Relative paths start here; by default the working directory. */
  readonly directory?: string;
  readonly connectTransport?: (options: HttpsTransportOptions) => Transport;
  readonly ports?: PortProbe;
}

export interface DepsInput {
  readonly settings: Settings;
  readonly connection: Connection;
  readonly processDeps: ProcessDeps;
  readonly signal: AbortSignal;
}

export function depsFor({ settings, connection, processDeps, signal }: DepsInput): Deps {
  const { rollout, plan_checks: planChecks } = settings;
  const { log, environment, secrets = new KnownSecrets(), directory = '.' } = processDeps;
  const { clock = systemClock, random = systemRandom } = processDeps;
  const { endpoint, credentials, trust } = connection;
  const { ports = portProbeFor({ endpoint, trust }) } = processDeps;
  const { requests, agentCalls } = rollout.limits;
  // Both clients share one transport, so its limit applies to them together.
  const transport = (processDeps.connectTransport ?? createHttpsTransport)({
    endpoint,
    trust,
    maxConnections: requests,
  });
  const client = (through: Transport, label: string): Pve =>
    createPve({
      transport: through,
      endpoint: endpoint.url,
      credentials,
      clock,
      random: random.fork(label),
      logger: log,
      secrets,
      limits: { requests, agentCalls },
    });
  const paths = readPaths(transport, clock);
  const work = client(paths.work, 'work');
  const kept = (secret: Secret): Secret => {
    secrets.add(secret);
    return secret;
  };
  // A one-time password logs in once, so there can be only one client then.
  const isOnce = credentials.kind === 'password' && credentials.otp !== undefined;
  let runs = 0;
  return {
    work,
    looks: isOnce ? work : client(paths.looks, 'looks'),
    forgetLooks: paths.forgetLooks,
    rollout,
    planChecks,
    clock,
    random,
    log,
    ports,
    stop: signal,
    signal,
    limits: RunLimits.shared(rollout, { pve: work, clock }),
    ids: new IdReservations(),
    runLabel: () => {
      runs++;
      return `run ${runs}`;
    },
    withSources: sharedImageSources({ clock, environment, directory, endpoint: endpoint.url }),
    readSecret: async (reference, where) => kept(await readSecret(reference, { environment, directory }, where)),
    readDocument: async (reference, where) => kept(await readDocument(reference, { environment, directory }, where)),
  };
}

interface ImageSourcesPlace {
  readonly clock: Clock;
  readonly environment: Environment;
  /** Relative paths start here. */
  readonly directory: string;
  readonly endpoint: string;
}

/**
 * Access to local files and downloads, shared by all resources of the process: an image for several nodes is downloaded
 * and unpacked once. The last user removes what was unpacked.
 */
export function sharedImageSources(place: ImageSourcesPlace): Deps['withSources'] {
  const sources = createImageSources({
    clock: place.clock,
    cacheDirectory: cacheDirectory(place),
    baseDirectory: place.directory,
  });
  let users = 0;
  return async (work) => {
    users++;
    try {
      return await work(sources.source);
    } finally {
      users--;
      if (users === 0) await sources.close();
    }
  };
}

/** One process at a time applies a configuration. Two configurations must not share a cache. */
function cacheDirectory({ environment, directory, endpoint }: ImageSourcesPlace): string {
  const { XDG_CACHE_HOME, HOME } = environment;
  const caches = XDG_CACHE_HOME || (HOME ? join(HOME, '.cache') : tmpdir());
  const own = createHash('sha256')
    .update(`${resolve(directory)} ${endpoint}`)
    .digest('hex')
    .slice(0, 16);
  return join(caches, 'proxwright', `terraform-${own}`);
}

/** A plan reads one moment. A longer run reads again after this time, even if it changed nothing itself. */
const LOOK_AGE_MS = 60_000;

interface ReadPaths {
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
