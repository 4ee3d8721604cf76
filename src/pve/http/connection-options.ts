/**
 * How to reach a server and as whom, from environment variables. Pure over a record of them: it reads neither the
 * process nor a file, so the CA is returned as a path and its text is asked for.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { advice, setting } from '../../base/hint.ts';
import { type Credentials, parseToken, passwordCredentials, tokenFrom } from './credentials.ts';
import { type Endpoint, parseEndpoint } from './endpoint.ts';
import { fingerprintTrust, type Trust } from './trust.ts';

/** What the environment says; anything it does not say is absent, and the stack file may still say it. */
export interface EnvironmentConnection {
  readonly endpoint?: Endpoint;
  readonly credentials?: Credentials;
  readonly trust?: Trust;
  /** To be read by whoever may read files, and given to `caTrust`. */
  readonly caFile?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names that the existing providers use, ours (bpg's) first. */
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

/** The first of these variables that is set; a complaint about its value names it. */
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

/** The parts that cannot be missing in the end, each with the ways to give it. */
export function requireConnection(found: EnvironmentConnection): { endpoint: Endpoint; credentials: Credentials } {
  if (!found.endpoint) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: 'No endpoint of a Proxmox server is given.',
      hint: advice`Set ${setting('connection.endpoint')} in the stack file, or PROXMOX_VE_ENDPOINT=https://pve1.example.org:8006.`,
    });
  }
  if (!found.credentials) {
    throw new ProxwrightError({
      code: 'BAD_CREDENTIALS',
      detail: 'No credentials are given.',
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

/** Other tools offer to skip verification. We do not: pinning the fingerprint is as short and keeps the token safe. */
function refuseInsecure(environment: Environment): void {
  const name = ['PROXMOX_VE_INSECURE', 'PM_TLS_INSECURE'].find((each) =>
    /^(1|true|yes|on)$/i.test(environment[each]?.trim() ?? ''),
  );
  if (!name || environment.PROXMOX_VE_FINGERPRINT || environment.PROXMOX_VE_CA_FILE) return;
  throw new ProxwrightError({
    code: 'CERT_UNTRUSTED',
    detail: `${name} is set, but the server's certificate is always verified here.`,
    hint: advice`Unset ${name} and pin the certificate instead. On the node:
openssl x509 -noout -fingerprint -sha256 -in /etc/pve/local/pve-ssl.pem
then set PROXMOX_VE_FINGERPRINT=AA:BB:… (or ${setting('connection.fingerprint')}), or PROXMOX_VE_CA_FILE=pve-root-ca.pem.`,
  });
}
