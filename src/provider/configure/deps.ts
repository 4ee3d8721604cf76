/** Creates what all resources of the process share, from the settings and a connection. Sends nothing. */
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { KnownSecrets, type Secret } from '../../base/secret.ts';
import type { PortProbe, Transport } from '../../base/transport.ts';
import { IdReservations, RunLimits } from '../../engine/index.ts';
import { readDocument, readSecret } from '../../local/secret.ts';
import { portProbeFor } from '../../local/simulator.ts';
import {
  createHttpsTransport,
  createPve,
  type Environment,
  type HttpsTransportOptions,
  type Pve,
} from '../../pve/index.ts';
import type { Deps } from '../adapter/deps.ts';
import type { Connection } from './connection.ts';
import { sharedImageSources } from './image-sources.ts';
import { readPaths } from './reads.ts';
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
