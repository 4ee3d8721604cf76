/** From the connection of a stack to a client: what the file says first, then the environment. */
import { resolve } from 'node:path';
import {
  caTrust,
  connectionFromEnvironment,
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
import { readTextFile } from './files.ts';
import type { StackHost } from './opened-stack.ts';
import { readSecret } from './secrets.ts';

const INSECURE = ['PROXMOX_VE_INSECURE', 'PM_TLS_INSECURE'];
const CREDENTIALS = [
  'PROXMOX_VE_API_TOKEN',
  'PM_API_TOKEN_ID',
  'PM_API_TOKEN_SECRET',
  'PROXMOX_VE_USERNAME',
  'PROXMOX_VE_PASSWORD',
  'PM_USER',
  'PM_PASS',
];

/** Builds the client; nothing is sent yet. */
export async function connect(stackHost: Pick<StackHost, 'stack' | 'directory'>, host: CommandHost): Promise<Pve> {
  const { connection, rollout } = stackHost.stack;
  const found = connectionFromEnvironment(environmentBeside(stackHost, host));
  const { endpoint, credentials } = requireConnection({
    ...found,
    ...(connection.endpoint !== undefined && { endpoint: parseEndpoint(connection.endpoint) }),
    ...(connection.token && {
      credentials: parseToken((await readSecret(connection.token, stackHost, host)).reveal()),
    }),
  });
  const trust = await trustOf(stackHost, host, found);
  const { requests, agentCalls } = rollout.limits;
  return createPve({
    connection: { endpoint, ...(trust && { trust }) },
    credentials,
    clock: host.clock,
    random: host.random,
    logger: host.terminal,
    limits: { requests, agentCalls },
  });
}

/**
 * What the file says hides its counterpart in the environment, also a malformed one. Who asks to skip verification is
 * verified all the same: the refusal of the server's certificate then shows the fingerprint to paste.
 */
function environmentBeside({ stack: { connection } }: Pick<StackHost, 'stack'>, host: CommandHost): Environment {
  const hidden = new Set([
    ...INSECURE,
    ...(connection.endpoint === undefined ? [] : ['PROXMOX_VE_ENDPOINT', 'PM_API_URL']),
    ...(connection.token ? CREDENTIALS : []),
    ...(connection.fingerprint === undefined && connection.ca === undefined
      ? []
      : ['PROXMOX_VE_FINGERPRINT', 'PROXMOX_VE_CA_FILE']),
  ]);
  for (const name of INSECURE) {
    if (/^(1|true|yes|on)$/i.test(host.environment[name]?.trim() ?? '')) {
      host.terminal.log('warn', `${name} has no effect: the certificate is always verified, by CA or fingerprint.`);
    }
  }
  return Object.fromEntries(Object.entries(host.environment).filter(([name]) => !hidden.has(name)));
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

async function readCa(directory: string, file: string): Promise<Trust> {
  return caTrust(await readTextFile(resolve(directory, file), 'a CA certificate', undefined, file), file);
}
