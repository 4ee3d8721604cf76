/**
 * The server under acceptance: a live one when PROXMOX_VE_ENDPOINT and PROXMOX_VE_API_TOKEN name it (with
 * PROXMOX_VE_FINGERPRINT or PROXMOX_VE_CA_FILE to trust it by), else the simulator over TLS with the recorded world.
 */

import { readFileSync } from 'node:fs';
import { type Clock, scaledClock, systemClock } from '../../src/base/clock.ts';
import { Limiter } from '../../src/base/limiter.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom, systemRandom } from '../../src/base/random.ts';
import { KnownSecrets } from '../../src/base/secret.ts';
import type { Transport } from '../../src/base/transport.ts';
import { Exchange } from '../../src/pve/exchange.ts';
import { Fence } from '../../src/pve/fence.ts';
import { Session } from '../../src/pve/http/session.ts';
import {
  type Credentials,
  caTrust,
  connectionFromEnvironment,
  createHttpsTransport,
  createPve,
  DEFAULT_LIMITS,
  type Endpoint,
  fingerprintTrust,
  type Pve,
  parseEndpoint,
  parseToken,
  requireConnection,
  type Trust,
} from '../../src/pve/index.ts';
import { Reach } from '../../src/pve/reach.ts';
import { Api } from '../../src/pve/request.ts';
import { serveSimulator } from '../../src/simulator/http/server.ts';
import { createSimulator, recordedWorld } from '../../src/simulator/index.ts';
import { RECORDED_CREDENTIALS } from '../contract/replay/credentials.ts';

export interface AcceptanceServer {
  readonly pve: Pve;
  /** A second client on the same server, for what must be refused. */
  connect(changed: { readonly credentials?: Credentials; readonly trust?: Trust }): Pve;
  /** A client whose requests pass through the given transport, for what watches them; the caller closes it. */
  connectThrough(watch: (transport: Transport) => Transport): Pve;
  /** Plain calls with the same credentials, for what the client does not offer; the caller closes it. */
  openApi(): { readonly api: Api; close(): Promise<void> };
  readonly isLive: boolean;
  readonly clock: Clock;
  /** Variables by which another process finds the same server. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** The simulated clock runs this much faster than ours, and so do the pauses of the client that waits for it. */
const SIMULATED_SPEED = 5;

export async function openServer(): Promise<AcceptanceServer> {
  const found = connectionFromEnvironment(process.env);
  if (!found.endpoint) return openSimulator();
  const { endpoint, credentials } = requireConnection(found);
  const trust = found.caFile ? caTrust(readFileSync(found.caFile, 'utf8'), found.caFile) : found.trust;
  process.stdout.write(`acceptance against ${endpoint.url}\n`);
  const connection = { endpoint, trust, credentials, clock: systemClock };
  // The other process inherits the very variables that were read here.
  return open(connection, { isLive: true, environment: {}, closeServer: async () => {} });
}

async function openSimulator(): Promise<AcceptanceServer> {
  const clock = scaledClock(systemClock, SIMULATED_SPEED);
  const simulator = createSimulator({
    world: recordedWorld({ now: clock.now() }),
    clock,
    random: seededRandom('acceptance'),
  });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  process.stdout.write('acceptance against the simulator: PROXMOX_VE_ENDPOINT is not set\n');
  const token = RECORDED_CREDENTIALS.tokens.root ?? '';
  const connection = {
    endpoint: parseEndpoint(server.endpoint),
    trust: fingerprintTrust(server.fingerprint),
    credentials: parseToken(token),
    clock,
  };
  const environment = {
    PROXMOX_VE_ENDPOINT: server.endpoint,
    PROXMOX_VE_API_TOKEN: token,
    PROXMOX_VE_FINGERPRINT: server.fingerprint,
  };
  return open(connection, { isLive: false, environment, closeServer: () => server.close() });
}

interface Connection {
  readonly endpoint: Endpoint;
  readonly trust: Trust | undefined;
  readonly credentials: Credentials;
  readonly clock: Clock;
}

interface VmSite extends Pick<AcceptanceServer, 'isLive' | 'environment'> {
  closeServer(): Promise<void>;
}

function open(connection: Connection, { isLive, environment, closeServer }: VmSite): AcceptanceServer {
  const opened: Pve[] = [];
  const connect: AcceptanceServer['connect'] = (changed) => {
    const { endpoint, trust, credentials, clock } = { ...connection, ...changed };
    const pve = createPve({ connection: { endpoint, trust }, credentials, clock });
    opened.push(pve);
    return pve;
  };
  return {
    pve: connect({}),
    connect,
    connectThrough: (watch) => {
      const { endpoint, trust, credentials, clock } = connection;
      const transport = watch(createHttpsTransport({ endpoint, trust }));
      return createPve({ transport, endpoint: endpoint.url, credentials, clock, random: systemRandom });
    },
    openApi: () => openApi(connection),
    isLive,
    clock: connection.clock,
    environment,
    close: async () => {
      await Promise.all(opened.map((pve) => pve.close()));
      await closeServer();
    },
  };
}

function openApi({ endpoint, trust, credentials, clock }: Connection): ReturnType<AcceptanceServer['openApi']> {
  const transport = createHttpsTransport({ endpoint, trust });
  const { requests, agentCalls } = DEFAULT_LIMITS;
  const parts = { transport, endpoint: endpoint.url, limiter: new Limiter(requests), clock, logger: silentLogger };
  const exchange = new Exchange({
    ...parts,
    reach: new Reach(parts),
    fence: new Fence(),
    random: systemRandom,
    secrets: new KnownSecrets(),
  });
  const session = new Session({ exchange, credentials, clock, logger: silentLogger });
  return { api: new Api(session, silentLogger, new Limiter(agentCalls)), close: () => transport.close() };
}
