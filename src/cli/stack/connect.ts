/** Builds the client of a stack. The stack file takes precedence over the environment. */
import { resolve } from 'node:path';
import type { Environment } from '../../base/processes.ts';
import type { Transport } from '../../base/transport.ts';
import type { ObservedTrust } from '../../engine/doctor/examination.ts';
import { type ConnectionPart, environmentBeside, unmetInsecurity } from '../../local/environment.ts';
import { readSecret } from '../../local/secret.ts';
import type { Connection } from '../../local/simulator.ts';
import { readTextFile } from '../../local/text-file.ts';
import {
  type Credentials,
  caTrust,
  connectionFromEnvironment,
  createHttpsTransport,
  createPve,
  fingerprintTrust,
  type Pve,
  parseEndpoint,
  parseToken,
  requireConnection,
  type Trust,
} from '../../pve/index.ts';
import type { CommandDeps } from '../command.ts';
import type { OpenedStack } from './open.ts';

/** The parts of a stack that decide how its server is reached. */
type StackConnection = Pick<OpenedStack, 'stack' | 'directory'>;

export interface ConnectOptions {
  /** Instead of those from the stack file or the environment. */
  readonly credentials?: Credentials;
  /** Wraps the transport, to observe the traffic. */
  readonly watch?: (transport: Transport) => Transport;
}

/** Sends nothing yet. */
export async function connect(
  opened: Pick<OpenedStack, 'stack' | 'directory' | 'file'>,
  deps: CommandDeps,
  { credentials: given, watch = (transport) => transport }: ConnectOptions = {},
): Promise<Pve> {
  const { connection, rollout } = opened.stack;
  const fromEnvironment = connectionFromEnvironment(environmentOf(opened, deps));
  const tokenAt = { file: opened.file, address: 'connection.token' };
  const sources = { environment: deps.environment, directory: opened.directory };
  const { endpoint, credentials } = requireConnection({
    ...fromEnvironment,
    ...(connection.endpoint !== undefined && { endpoint: parseEndpoint(connection.endpoint) }),
    ...(given && { credentials: given }),
    ...(!given &&
      connection.token && {
        credentials: parseToken((await readSecret(connection.token, sources, tokenAt)).reveal()),
      }),
  });
  const trust = await trustOf(opened, deps, fromEnvironment);
  const { requests, agentCalls } = rollout.limits;
  return createPve({
    transport: watch(createHttpsTransport({ endpoint, trust })),
    endpoint: endpoint.url,
    credentials,
    clock: deps.clock,
    random: deps.random,
    logger: deps.terminal,
    secrets: deps.secrets,
    limits: { requests, agentCalls },
  });
}

/** How the server of `pve` is reached outside the API. */
export async function serverOf(pve: Pve, opened: StackConnection, deps: CommandDeps): Promise<Connection> {
  const found = connectionFromEnvironment(environmentBeside(deps.environment, saidIn(opened)));
  return { endpoint: parseEndpoint(pve.endpoint), trust: await trustOf(opened, deps, found) };
}

/** How the server's certificate will be verified; reads and sends nothing. */
export function trustSeen({ stack: { connection } }: Pick<OpenedStack, 'stack'>, deps: CommandDeps): ObservedTrust {
  const pinned =
    connection.fingerprint ?? (connection.ca === undefined ? deps.environment.PROXMOX_VE_FINGERPRINT : undefined);
  if (pinned) return { kind: 'fingerprint', fingerprint: pinned };
  return { kind: connection.ca === undefined && !deps.environment.PROXMOX_VE_CA_FILE ? 'system' : 'ca' };
}

/** The part of the environment that the file does not override. Warns if it asks for no verification. */
function environmentOf(opened: Pick<OpenedStack, 'stack'>, deps: CommandDeps): Environment {
  for (const warning of unmetInsecurity(deps.environment)) deps.terminal.log('warn', warning);
  return environmentBeside(deps.environment, saidIn(opened));
}

function saidIn({ stack: { connection } }: Pick<OpenedStack, 'stack'>): ReadonlySet<ConnectionPart> {
  const said = new Set<ConnectionPart>();
  if (connection.endpoint !== undefined) said.add('endpoint');
  if (connection.token) said.add('credentials');
  if (connection.fingerprint !== undefined || connection.ca !== undefined) said.add('trust');
  return said;
}

async function trustOf(
  { stack: { connection }, directory }: StackConnection,
  deps: CommandDeps,
  found: { readonly trust?: Trust; readonly caFile?: string },
): Promise<Trust | undefined> {
  if (connection.fingerprint !== undefined) return fingerprintTrust(connection.fingerprint);
  if (connection.ca !== undefined) return readCa(directory, connection.ca);
  if (found.trust) return found.trust;
  return found.caFile === undefined ? undefined : readCa(deps.directory, found.caFile);
}

const CA_HINT = 'Copy /etc/pve/pve-root-ca.pem from a Proxmox node to this path, or name another file.';

async function readCa(directory: string, file: string): Promise<Trust> {
  return caTrust(await readTextFile(resolve(directory, file), 'a CA certificate', CA_HINT, file), file);
}
