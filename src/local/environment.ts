/**
 * Environment variables as the fallback of a configuration. A setting in the configuration hides its variable, even a
 * malformed one. Variables that ask to skip verification are ignored: the error about the certificate shows the fingerprint
 * to paste.
 */

import type { Environment } from '../base/processes.ts';
import { Secret } from '../base/secret.ts';

/** The variables of each part of a connection. */
export const CONNECTION_VARIABLES = {
  endpoint: ['PROXMOX_VE_ENDPOINT', 'PM_API_URL'],
  credentials: [
    'PROXMOX_VE_API_TOKEN',
    'PM_API_TOKEN_ID',
    'PM_API_TOKEN_SECRET',
    'PROXMOX_VE_USERNAME',
    'PROXMOX_VE_PASSWORD',
    'PROXMOX_VE_OTP',
    'PM_USER',
    'PM_PASS',
    'PM_OTP',
  ],
  trust: ['PROXMOX_VE_FINGERPRINT', 'PROXMOX_VE_CA_FILE'],
} as const;

/** Variables that hold secrets. */
const SECRETS = [
  'PROXMOX_VE_API_TOKEN',
  'PM_API_TOKEN_SECRET',
  'PROXMOX_VE_PASSWORD',
  'PROXMOX_VE_OTP',
  'PM_PASS',
  'PM_OTP',
  'PROXMOX_VE_ADMIN_TOKEN',
  'PROXWRIGHT_PLAN_KEY',
] as const;

/** Also those that the configuration hides. Of a token, only the part after its id is secret. */
export function secretsIn(environment: Environment): Secret[] {
  return SECRETS.flatMap((name) => environment[name] ?? []).map((value) => {
    const [, behindName] = /^[^=]+![^=]+=(.+)$/.exec(value.trim()) ?? [];
    return new Secret(behindName ?? value);
  });
}

/** For programs that need none of them. */
export function withoutCredentials(environment: Environment): Environment {
  const hidden = new Set<string>([...SECRETS, 'PM_API_TOKEN_ID']);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !hidden.has(name)));
}

export type ConnectionPart = keyof typeof CONNECTION_VARIABLES;

const INSECURE = ['PROXMOX_VE_INSECURE', 'PM_TLS_INSECURE'];

/** The variables for the parts that the configuration does not set. */
export function environmentBeside(environment: Environment, said: ReadonlySet<ConnectionPart>): Environment {
  const hidden = new Set<string>([...INSECURE, ...[...said].flatMap((part) => CONNECTION_VARIABLES[part])]);
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !hidden.has(name)));
}

/** One warning for each variable that asks to skip verification. */
export function unmetInsecurity(environment: Environment): string[] {
  return INSECURE.filter((name) => /^(1|true|yes|on)$/i.test(environment[name]?.trim() ?? '')).map(
    (name) => `${name} has no effect: the certificate is always verified, by CA or fingerprint.`,
  );
}
