/**
 * Credentials for S3, from the sources that AWS tools agree on, in their order: the environment, a web identity, the
 * shared files with their profiles (static keys or `credential_process`, which also serves single sign-on), a
 * container, and the instance. Expiring credentials are renewed in time.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import { type KnownSecrets, Secret } from '../base/secret.ts';
import { parseJson } from '../base/text/safe-text.ts';
import type { AwsKeys, CredentialSource } from '../state/shared/s3-bucket.ts';

export interface CredentialDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly secrets: KnownSecrets;
  readonly region: string;
  readonly profile?: string | undefined;
}

interface Found extends AwsKeys {
  readonly expiresAt?: number;
}

/** Renewed this long before they expire. */
const EARLY_MS = 5 * 60_000;
const QUESTION_MS = 2_000;
const INSTANCE = 'http://169.254.169.254';

export function awsCredentials(deps: CredentialDeps): CredentialSource {
  let known: Promise<Found> | undefined;
  return {
    renew: () => {
      known = undefined;
    },
    get: async () => {
      known ??= find(deps);
      const found = await known.catch((error: unknown) => {
        known = undefined;
        throw error;
      });
      if (found.expiresAt !== undefined && found.expiresAt - deps.clock.now() < EARLY_MS) known = undefined;
      deps.secrets.add(new Secret(found.secretAccessKey));
      if (found.sessionToken !== undefined) deps.secrets.add(new Secret(found.sessionToken));
      const { expiresAt: _, ...keys } = found;
      return keys;
    },
  };
}

async function find(deps: CredentialDeps): Promise<Found> {
  const { environment } = deps;
  // A requested profile hides the environment, as in the AWS tools.
  const sources = deps.profile === undefined ? SOURCES : [fromProfile];
  for (const source of sources) {
    const found = await source(deps);
    if (found) return found;
  }
  throw new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    detail:
      deps.profile === undefined
        ? 'There are no credentials for S3: none in the environment, the shared files, a container or the instance.'
        : `The shared files of AWS have no keys for the profile "${deps.profile}".`,
    hint: `Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile: AWS_PROFILE${environment.AWS_PROFILE === undefined ? '' : ` (now "${environment.AWS_PROFILE}")`}.`,
  });
}

type Source = (deps: CredentialDeps) => Promise<Found | undefined>;

const fromEnvironment: Source = async ({ environment }) => {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = environment;
  if (!id || !secret) return undefined;
  return { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) };
};

const fromWebIdentity: Source = async ({ environment, region }) => {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = environment;
  if (!file || !role) return undefined;
  const query = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment.AWS_ROLE_SESSION_NAME ?? 'proxwright',
    WebIdentityToken: (await readFile(file, 'utf8')).trim(),
  });
  const endpoint = environment.AWS_ENDPOINT_URL_STS ?? `https://sts.${region}.amazonaws.com`;
  const response = await fetch(`${endpoint}/`, {
    method: 'POST',
    body: query,
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(10 * QUESTION_MS),
  });
  const answer = parseJson(await response.text());
  const keys = at(answer, 'AssumeRoleWithWebIdentityResponse', 'AssumeRoleWithWebIdentityResult', 'Credentials');
  if (!response.ok || keys === undefined) throw refused('the token service', `${response.status} for the role ${role}`);
  return keysIn(keys);
};

const fromProfile: Source = async ({ environment, profile }) => {
  const name = profile ?? environment.AWS_PROFILE ?? 'default';
  const folder = join(homedir(), '.aws');
  const [keys, settings] = await Promise.all([
    sectionOf(environment.AWS_SHARED_CREDENTIALS_FILE ?? join(folder, 'credentials'), name),
    sectionOf(environment.AWS_CONFIG_FILE ?? join(folder, 'config'), name === 'default' ? name : `profile ${name}`),
  ]);
  const both = { ...settings, ...keys };
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = both;
  if (id && secret) return { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) };
  return both.credential_process === undefined ? undefined : fromProcess(both.credential_process);
};

/** The file names the command to run, as for every AWS tool. */
async function fromProcess(command: string): Promise<Found> {
  const run = promisify(execFile);
  const [shell, option] = process.platform === 'win32' ? (['cmd', '/c'] as const) : (['sh', '-c'] as const);
  const { stdout } = await run(shell, [option, command], { timeout: 60_000 }).catch((error: Error) => {
    throw refused('credential_process', error.message.split('\n')[0] ?? '');
  });
  return keysIn(parseJson(stdout));
}

const fromContainer: Source = async ({ environment }) => {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = environment;
  const url = path ? `http://169.254.170.2${path}` : full;
  if (!url) return undefined;
  const file = environment.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  const token = file ? (await readFile(file, 'utf8')).trim() : environment.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  return keysIn(await question(url, token === undefined ? {} : { authorization: token }));
};

const fromInstance: Source = async ({ environment }) => {
  if (environment.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined;
  const endpoint = environment.AWS_EC2_METADATA_SERVICE_ENDPOINT ?? INSTANCE;
  const token = await fetch(`${endpoint}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' },
    signal: AbortSignal.timeout(QUESTION_MS),
  })
    .then((response) => (response.ok ? response.text() : undefined))
    .catch(() => undefined);
  if (token === undefined) return undefined;
  const header = { 'x-aws-ec2-metadata-token': token };
  const roles = `${endpoint}/latest/meta-data/iam/security-credentials/`;
  const role = await fetch(roles, { headers: header, signal: AbortSignal.timeout(QUESTION_MS) });
  if (!role.ok) return undefined;
  return keysIn(await question(`${roles}${(await role.text()).trim()}`, header));
};

const SOURCES: readonly Source[] = [fromEnvironment, fromWebIdentity, fromProfile, fromContainer, fromInstance];

async function question(url: string, headers: Record<string, string>): Promise<unknown> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(QUESTION_MS) });
  if (!response.ok) throw refused(new URL(url).origin, `status ${response.status}`);
  return response.json();
}

/** The names of the keys differ between the services in one letter case and one word only. */
function keysIn(answer: unknown): Found {
  const text = (name: string) => {
    const value = at(answer, name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const [accessKeyId, secretAccessKey] = [text('AccessKeyId'), text('SecretAccessKey')];
  const sessionToken = text('SessionToken') ?? text('Token');
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw refused('the source of the credentials', 'an answer without keys');
  const expiration = at(answer, 'Expiration');
  const expiresAt = typeof expiration === 'number' ? expiration * 1000 : Date.parse(String(expiration));
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(!Number.isNaN(expiresAt) && { expiresAt }),
  };
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let now = value;
  for (const name of path) {
    if (typeof now !== 'object' || now === null) return undefined;
    now = Object.entries(now).find(([key]) => key === name)?.[1];
  }
  return now;
}

/** One section of an INI file as AWS writes them; undefined without it. */
async function sectionOf(path: string, section: string): Promise<Record<string, string>> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const found: Record<string, string> = {};
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\s*\[\s*(.*?)\s*\]/.exec(line) ?? [];
    if (name !== undefined) inside = name === section;
    const [, key, value] = /^([a-z_0-9]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (inside && key !== undefined) found[key] = value ?? '';
  }
  return found;
}

function refused(source: string, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    detail: `There are no credentials for S3: ${source} answered ${what}.`,
    hint: 'Check where they come from, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  });
}
