/**
 * The endpoint, credentials and trust that environment variables give. A pure function of the variables: it reads neither
 * the process nor a file, so it returns the path of the CA, and the caller reads it.
 */

import { ProxwrightError } from '../../base/errors.ts';
import { advice, setting } from '../../base/hint.ts';
import type { Environment } from '../../base/processes.ts';
import { type Credentials, parseToken, passwordCredentials, tokenFrom } from './credentials.ts';
import { type Endpoint, fingerprintTrust, PRINT_FINGERPRINT, parseEndpoint, type Trust } from './endpoint.ts';

/** Settings from the environment; absent ones may still come from the stack file. */
export interface EnvironmentConnection {
  readonly endpoint?: Endpoint;
  readonly credentials?: Credentials;
  readonly trust?: Trust;
  /** The caller reads this file and passes its text to `caTrust`. */
  readonly caFile?: string;
}

/** The names that existing providers use; those of bpg, which are also ours, first. */
export function connectionFromEnvironment(environment: Environment): EnvironmentConnection {
  const value = (...names: string[]) => names.map((name) => environment[name]?.trim()).find((text) => text);
  refuseInsecure(environment);
  const endpoint = parsed(environment, ['PROXMOX_VE_ENDPOINT', 'PM_API_URL'], parseEndpoint);
  const trust = parsed(environment, ['PROXMOX_VE_FINGERPRINT'], fingerprintTrust);
  const caFile = value('PROXMOX_VE_CA_FILE');
  const credentials = parsed(environment, ['PROXMOX_VE_API_TOKEN'], parseToken) ?? credentialsFrom(value);
  return {
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    ...(trust && { trust }),
    ...(caFile && { caFile }),
  };
}

/** The value of the first variable that is set; an error about it names the variable. */
function parsed<Value>(
  environment: Environment,
  names: readonly string[],
  parse: (text: string) => Value,
): Value | undefined {
  const name = names.find((each) => environment[each]?.trim());
  if (name === undefined) return undefined;
  try {
    return parse(environment[name]?.trim() ?? '');
  } catch (error) {
    throw error instanceof ProxwrightError ? error.with({ where: { file: name } }) : error;
  }
}

/** Fails if a required setting is missing, and says how to set it. */
export function requireConnection(found: EnvironmentConnection): { endpoint: Endpoint; credentials: Credentials } {
  if (!found.endpoint) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: 'No endpoint is configured.',
      hint: advice`Set ${setting('connection.endpoint')} in the stack file, or PROXMOX_VE_ENDPOINT=https://pve1.example.org:8006.`,
    });
  }
  if (!found.credentials) {
    throw new ProxwrightError({
      code: 'BAD_CREDENTIALS',
      detail: 'No credentials are configured.',
      hint: advice`Set PROXMOX_VE_API_TOKEN='user@realm!id=secret', or ${setting('connection.token')} in the stack file.`,
    });
  }
  return { endpoint: found.endpoint, credentials: found.credentials };
}

function credentialsFrom(value: (...names: string[]) => string | undefined): Credentials | undefined {
  const id = value('PM_API_TOKEN_ID');
  const secret = value('PM_API_TOKEN_SECRET');
  if (id && secret) return tokenFrom(id, secret);
  if (id || secret) {
    throw new ProxwrightError({
      code: 'BAD_CREDENTIALS',
      detail: `${id ? 'PM_API_TOKEN_ID' : 'PM_API_TOKEN_SECRET'} is set without ${id ? 'PM_API_TOKEN_SECRET' : 'PM_API_TOKEN_ID'}.`,
      hint: "Set both, or PROXMOX_VE_API_TOKEN='user@realm!id=secret'.",
    });
  }
  const username = value('PROXMOX_VE_USERNAME', 'PM_USER');
  const password = value('PROXMOX_VE_PASSWORD', 'PM_PASS');
  if (username && password) return passwordCredentials({ username, password, otp: value('PROXMOX_VE_OTP', 'PM_OTP') });
  return undefined;
}

/** Other tools can skip verification. Proxwright cannot: pinning the fingerprint is as short and protects the token. */
function refuseInsecure(environment: Environment): void {
  const name = ['PROXMOX_VE_INSECURE', 'PM_TLS_INSECURE'].find((each) =>
    /^(1|true|yes|on)$/i.test(environment[each]?.trim() ?? ''),
  );
  if (!name || environment.PROXMOX_VE_FINGERPRINT || environment.PROXMOX_VE_CA_FILE) return;
  throw new ProxwrightError({
    code: 'CERT_UNTRUSTED',
    detail: `${name} is set, but Proxwright always verifies the server's certificate.`,
    hint: advice`Unset ${name} and pin the certificate instead. On the node:
${PRINT_FINGERPRINT}
then set PROXMOX_VE_FINGERPRINT=AA:BB:… (or ${setting('connection.fingerprint')}), or PROXMOX_VE_CA_FILE=pve-root-ca.pem.`,
  });
}
