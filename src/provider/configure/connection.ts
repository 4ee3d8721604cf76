/** The server, the credentials and the trust in its certificate: from the configuration, else from the environment. */
import { resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError, toDiagnostic } from '../../base/errors.ts';
import type { SecretReference } from '../../kinds/stack.ts';
import { CONNECTION_VARIABLES, type ConnectionPart, unmetInsecurity } from '../../local/environment.ts';
import { readSecret, type SecretSources } from '../../local/secret.ts';
import { readTextFile } from '../../local/text-file.ts';
// Not from the public face of the client: a process that only validates would load the whole client with it.
import { connectionFromEnvironment, type EnvironmentConnection } from '../../pve/http/connection-options.ts';
import { type Credentials, parseToken } from '../../pve/http/credentials.ts';
import { caTrust, type Endpoint, fingerprintTrust, parseEndpoint, type Trust } from '../../pve/http/endpoint.ts';
import { isPem, type Settings } from './settings.ts';

export interface Connection {
  readonly endpoint: Endpoint;
  readonly credentials: Credentials;
  /** Undefined: the certificate authorities that this machine trusts. */
  readonly trust: Trust | undefined;
}

export type ConnectionSettings = Pick<
  Settings,
  'endpoint' | 'token' | 'token_file' | 'token_command' | 'fingerprint' | 'ca' | 'insecure'
>;

export interface FoundConnection {
  /** Undefined where something is invalid or missing. */
  readonly connection: Connection | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Sends nothing. Reads all parts, so that every problem is reported at once. */
export async function findConnection(settings: ConnectionSettings, sources: SecretSources): Promise<FoundConnection> {
  const problems: Diagnostic[] = [];
  const attempt = async <Value>(field: string, find: () => Promise<Value>): Promise<Value | undefined> => {
    try {
      return await find();
    } catch (error) {
      problems.push({ ...toDiagnostic(error), where: { field } });
      return undefined;
    }
  };
  const endpoint = await attempt('endpoint', async () => endpointOf(settings, sources));
  const credentials = await attempt(tokenField(settings), () => credentialsOf(settings, sources));
  const trust = await attempt(settings.ca === undefined ? 'fingerprint' : 'ca', () => trustOf(settings, sources));
  const warnings = insecurity(settings, sources, trust);
  if (!endpoint || !credentials || problems.length > 0) {
    return { connection: undefined, diagnostics: [...problems, ...warnings] };
  }
  return { connection: { endpoint, credentials, trust }, diagnostics: warnings };
}

function endpointOf({ endpoint }: ConnectionSettings, sources: SecretSources): Endpoint {
  const found = endpoint === undefined ? fromEnvironment('endpoint', sources).endpoint : parseEndpoint(endpoint);
  if (found) return found;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: 'The endpoint of the Proxmox server is not set.',
    hint: 'Set endpoint = "https://pve1.example.org:8006" in the provider block, or PROXMOX_VE_ENDPOINT.',
  });
}

function tokenField(settings: ConnectionSettings): string {
  return (['token_file', 'token_command'] as const).find((name) => settings[name] !== undefined) ?? 'token';
}

async function credentialsOf(settings: ConnectionSettings, sources: SecretSources): Promise<Credentials> {
  const { token } = settings;
  if (token !== undefined) return parseToken(token);
  const reference = tokenReference(settings);
  if (reference) return parseToken((await readSecret(reference, sources)).reveal());
  const { credentials } = fromEnvironment('credentials', sources);
  if (credentials) return credentials;
  throw new ProxwrightError({
    code: 'BAD_CREDENTIALS',
    detail: 'No credentials are set.',
    hint: "Set PROXMOX_VE_API_TOKEN='user@realm!id=secret', or token, token_file or token_command in the provider block.",
  });
}

function tokenReference({ token_file, token_command }: ConnectionSettings): SecretReference | undefined {
  if (token_file !== undefined) return { file: token_file };
  return token_command && { command: token_command };
}

async function trustOf({ fingerprint, ca }: ConnectionSettings, sources: SecretSources): Promise<Trust | undefined> {
  if (fingerprint !== undefined) return fingerprintTrust(fingerprint);
  if (ca !== undefined) return isPem(ca) ? caTrust(ca) : readCa(ca, sources);
  const { trust, caFile } = fromEnvironment('trust', sources);
  return trust ?? (caFile === undefined ? undefined : readCa(caFile, sources));
}

async function readCa(file: string, { directory }: SecretSources): Promise<Trust> {
  return caTrust(await readTextFile(resolve(directory, file), 'a CA certificate', undefined, file), file);
}

/** One part at a time, so that a problem can name the variables that the part comes from. */
function fromEnvironment(part: ConnectionPart, { environment }: SecretSources): EnvironmentConnection {
  const names = CONNECTION_VARIABLES[part].filter((name) => environment[name]?.trim());
  try {
    return connectionFromEnvironment(Object.fromEntries(names.map((name) => [name, environment[name]])));
  } catch (error) {
    const { detail, hint } = toDiagnostic(error);
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `${detail} It comes from the environment (${names.join(', ')}).`,
      ...(hint !== undefined && { hint }),
      cause: error,
    });
  }
}

/** A variable of the environment does not matter where the certificate is pinned; an attribute should be removed. */
function insecurity(
  { insecure }: ConnectionSettings,
  { environment }: SecretSources,
  trust: Trust | undefined,
): Diagnostic[] {
  const warnings = [
    ...(insecure ? ['"insecure" has no effect: the certificate is always verified, by CA or fingerprint.'] : []),
    ...(trust ? [] : unmetInsecurity(environment)),
  ];
  return warnings.map((detail) => ({
    ...new ProxwrightError({
      code: 'BAD_VALUE',
      detail,
      hint: 'If the certificate is refused, the error shows the line to add to the provider block: fingerprint = "…".',
      ...(insecure && { where: { field: 'insecure' } }),
    }).diagnostic,
    severity: 'warning',
  }));
}
