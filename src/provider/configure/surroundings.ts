/** From settings and a connection to what all resources of the process share. Nothing is sent. */
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import type { Secret } from '../../base/secret.ts';
import type { PortProbe, Transport } from '../../base/transport.ts';
import { RunLimits } from '../../engine/limits.ts';
import { IdReservations } from '../../kinds/vm/ids.ts';
import { tcpPortProbe } from '../../local/port-probe.ts';
import { readDocument, readSecret } from '../../local/secret.ts';
import { shareReads } from '../../pve/http/shared-reads.ts';
import {
  createHttpsTransport,
  createPve,
  type Environment,
  type HttpsTransportOptions,
  type Pve,
} from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';
import type { Connection } from './connection.ts';
import { sharedImageSources } from './image-sources.ts';
import type { Settings } from './settings.ts';

/** What a provider gets from the process that runs it; what is left out is the real thing. */
export interface ProviderDoors {
  readonly log: Logger;
  readonly environment: Environment;
  /** Whatever is put in here is struck out of what the process writes. */
  readonly secrets?: Set<Secret>;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Where relative paths begin; the working directory unless given. */
  readonly directory?: string;
  readonly connectTransport?: (options: HttpsTransportOptions) => Transport;
  readonly ports?: PortProbe;
}

/** A plan looks at one moment; a run that lasts looks again after this long, whatever it changed itself. */
const LOOK_AGE_MS = 60_000;

export interface SurroundingsInput {
  readonly settings: Settings;
  readonly connection: Connection;
  readonly doors: ProviderDoors;
  readonly signal: AbortSignal;
}

export function surroundingsFor({ settings, connection, doors, signal }: SurroundingsInput): Surroundings {
  const { rollout, plan_checks: planChecks } = settings;
  const { log, environment, secrets, directory = '.' } = doors;
  const { clock = systemClock, random = systemRandom, ports = tcpPortProbe } = doors;
  const { endpoint, credentials, trust } = connection;
  const { requests, agentCalls } = rollout.limits;
  secrets?.add(credentials.kind === 'token' ? credentials.secret : credentials.password);
  // One transport under both clients: its bound is what the server feels of them together.
  const transport = (doors.connectTransport ?? createHttpsTransport)({ endpoint, trust, maxConnections: requests });
  const client = (through: Transport, label: string): Pve =>
    createPve({
      transport: through,
      endpoint: endpoint.url,
      credentials,
      clock,
      random: random.fork(label),
      logger: log,
      limits: { requests, agentCalls },
    });
  const work = client(transport, 'work');
  const reads = shareReads(transport, clock, LOOK_AGE_MS);
  const kept = (secret: Secret): Secret => {
    secrets?.add(secret);
    return secret;
  };
  // A one-time password logs in once, so there can be but one client then.
  const isOnce = credentials.kind === 'password' && credentials.otp !== undefined;
  return {
    work,
    looks: isOnce ? work : client(reads, 'looks'),
    forgetLooks: () => reads.forget(),
    rollout,
    planChecks,
    clock,
    random,
    log,
    ports,
    signal,
    limits: RunLimits.shared(rollout, { pve: work, clock }),
    ids: new IdReservations(),
    withImageSources: sharedImageSources({ clock, environment, directory, endpoint: endpoint.url }),
    readSecret: async (reference, where) => kept(await readSecret(reference, { environment, directory }, where)),
    readDocument: async (reference, where) => kept(await readDocument(reference, { environment, directory }, where)),
  };
}
