/** From the connection of a stack to a client: what the file says first, then the environment. */
import { resolve } from 'node:path';
import type { Transport } from '../base/transport.ts';
import type { TrustSeen } from '../engine/doctor/examination.ts';
import { type ConnectionPart, environmentBeside, unmetInsecurity } from '../local/environment.ts';
import { readSecret } from '../local/secret.ts';
import { readTextFile } from '../local/text-file.ts';
import {
  type Credentials,
  caTrust,
  connectionFromEnvironment,
  createHttpsTransport,
  createPve,
  type Environment,
  fingerprintTrust,
  type Pve,
  parseEndpoint,
  parseToken,
  requireConnection,
  type Trust,
} from '../pve/index.ts';
import type { CommandHost } from './command-host.ts';
import type { StackHost } from './opened-stack.ts';

export interface ConnectOptions {
  /** Somebody else's, instead of those that the stack or the environment gives. */
  readonly credentials?: Credentials;
  /** Sees everything that goes over the wire. */
  readonly watch?: (transport: Transport) => Transport;
}

/** Builds the client; nothing is sent yet. */
export async function connect(
  stackHost: Pick<StackHost, 'stack' | 'directory' | 'file'>,
  host: CommandHost,
  { credentials: others, watch = (transport) => transport }: ConnectOptions = {},
): Promise<Pve> {
  const { connection, rollout } = stackHost.stack;
  const found = connectionFromEnvironment(environmentOf(stackHost, host));
  const tokenAt = { file: stackHost.file, address: 'connection.token' };
  const sources = { environment: host.environment, directory: stackHost.directory };
  const { endpoint, credentials } = requireConnection({
    ...found,
    ...(connection.endpoint !== undefined && { endpoint: parseEndpoint(connection.endpoint) }),
    ...(others && { credentials: others }),
    ...(!others &&
      connection.token && {
        credentials: parseToken((await readSecret(connection.token, sources, tokenAt)).reveal()),
      }),
  });
  const trust = await trustOf(stackHost, host, found);
  const { requests, agentCalls } = rollout.limits;
  return createPve({
    transport: watch(createHttpsTransport({ endpoint, trust })),
    endpoint: endpoint.url,
    credentials,
    clock: host.clock,
    random: host.random,
    logger: host.terminal,
    limits: { requests, agentCalls },
  });
}

/** How the certificate of the server would be believed; nothing is read or sent. */
export function trustSeen({ stack: { connection } }: Pick<StackHost, 'stack'>, host: CommandHost): TrustSeen {
  const pinned =
    connection.fingerprint ?? (connection.ca === undefined ? host.environment.PROXMOX_VE_FINGERPRINT : undefined);
  if (pinned) return { kind: 'fingerprint', fingerprint: pinned };
  return { kind: connection.ca === undefined && !host.environment.PROXMOX_VE_CA_FILE ? 'system' : 'ca' };
}

/** Warns where verification is not wanted, and leaves what the file does not say. */
function environmentOf({ stack: { connection } }: Pick<StackHost, 'stack'>, host: CommandHost): Environment {
  for (const warning of unmetInsecurity(host.environment)) host.terminal.log('warn', warning);
  const said = new Set<ConnectionPart>();
  if (connection.endpoint !== undefined) said.add('endpoint');
  if (connection.token) said.add('credentials');
  if (connection.fingerprint !== undefined || connection.ca !== undefined) said.add('trust');
  return environmentBeside(host.environment, said);
}

async function trustOf(
  { stack: { connection }, directory }: Pick<StackHost, 'stack' | 'directory'>,
  host: CommandHost,
  found: { readonly trust?: Trust; readonly caFile?: string },
): Promise<Trust | undefined> {
  if (connection.fingerprint !== undefined) return fingerprintTrust(connection.fingerprint);
  if (connection.ca !== undefined) return readCa(directory, connection.ca);
  if (found.trust) return found.trust;
  return found.caFile === undefined ? undefined : readCa(host.directory, found.caFile);
}

const CA_HINT = 'Copy /etc/pve/pve-root-ca.pem of a Proxmox node there, or name another file.';

async function readCa(directory: string, file: string): Promise<Trust> {
  return caTrust(await readTextFile(resolve(directory, file), 'a CA certificate', CA_HINT, file), file);
}
