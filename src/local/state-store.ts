/**
 * Opens the store of a state: the one that the stack file names, else that of `PROXWRIGHT_STATE`, else a local
 * directory. Code and drivers of the shared stores are loaded only when needed.
 */
import { uptime } from 'node:os';
import { resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { type KnownSecrets, Secret } from '../base/secret.ts';
import type { HttpSpec, PostgresSpec, S3Spec, StateSpec } from '../kinds/stack.ts';
import type { DirectoryStore } from '../state/directory-store.ts';
import type { StateStore } from '../state/store.ts';
import { readSecret } from './secret.ts';
import { readTextFile } from './text-file.ts';

export const STATE_VARIABLE = 'PROXWRIGHT_STATE';

export interface StoreDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Relative paths in the stack file start here. */
  readonly directory: string;
  readonly stackName: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly secrets: KnownSecrets;
  /** The local directory of this stack; a shared store keeps data of this machine there. */
  readonly local: DirectoryStore;
  /** How long a lease of a shared store lasts, if not as long as usual; for tests. */
  readonly leaseMs?: number;
  /** Tells a person what takes time. */
  readonly tell?: ((text: string) => void) | undefined;
}

/** A store as the file or an address names it. Passwords in an address are taken out. */
export type StoreChoice = StateSpec & { readonly secret?: Secret | undefined };

export async function openStateStore(spec: StateSpec | undefined, deps: StoreDeps): Promise<StateStore> {
  const address = deps.environment[STATE_VARIABLE];
  const isChosen = spec && (spec.local ?? spec.postgres ?? spec.s3 ?? spec.http) !== undefined;
  if (isChosen) return openChosenStore(spec, deps);
  if (address?.trim() === '') throw emptyVariable();
  return openChosenStore(address === undefined ? { local: true } : parseStoreAddress(address), deps);
}

/** A local state in its place would have none of the VMs. */
function emptyVariable(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `${STATE_VARIABLE} is empty. In a CI job this usually means that the job cannot read the secret.`,
    hint: `Give the job access to it. For a state in a local directory, unset the variable or set it to "local".`,
  });
}

export async function openChosenStore(choice: StoreChoice, deps: StoreDeps): Promise<StateStore> {
  if (choice.secret) deps.secrets.add(choice.secret);
  if (choice.postgres) return withOutbox(await openPostgres(choice.postgres, choice.secret, deps), deps);
  if (choice.s3) return withOutbox(await openS3(choice.s3, deps), deps);
  if (choice.http) return openHttp(choice.http, choice.secret, deps);
  return deps.local;
}

/**
 * `local`, `postgres://user:password@host/database?schema=…`, `s3://bucket/prefix?region=…&endpoint=…&profile=…`, or
 * `https://user:password@host/path`, whose lock is where Terraform's own variables say: `TF_HTTP_LOCK_ADDRESS` and others.
 */
export function parseStoreAddress(text: string): StoreChoice {
  if (text === 'local') return { local: true };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw unknownStore();
  }
  const secret = url.password === '' ? undefined : new Secret(decoded(url.password));
  const option = (name: string) => url.searchParams.get(name) ?? undefined;
  switch (url.protocol) {
    case 'postgres:':
    case 'postgresql:': {
      const address = new URL(url.href);
      address.password = '';
      address.search = '';
      return { postgres: { address: address.href, schema: option('schema'), ca: option('ca') }, secret };
    }
    case 's3:':
      return {
        s3: {
          bucket: url.hostname,
          prefix: decoded(url.pathname) || undefined,
          region: option('region'),
          endpoint: option('endpoint'),
          profile: option('profile'),
          ca: option('ca'),
        },
      };
    case 'http:':
    case 'https:': {
      const username = url.username === '' ? undefined : decoded(url.username);
      url.username = '';
      url.password = '';
      return { http: { address: url.href, username }, secret };
    }
    default:
      throw unknownStore();
  }
}

/** The text stays out of the message: it may be a password. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: 'The address of the store has a "%" that begins no character.',
      hint: 'Write %25 for a "%" in a user name, a password or a prefix.',
    });
  }
}

function unknownStore(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    detail: 'This is not the address of a store.',
    hint: 'It is one of: local, postgres://user@host/database, s3://bucket/prefix, https://host/path.',
  });
}

async function withOutbox(store: StateStore, { local }: StoreDeps): Promise<StateStore> {
  const { OutboxStore } = await import('../state/shared/outbox.ts');
  return new OutboxStore(store, local);
}

/** Drivers are not installed with Proxwright: most users keep their state in a directory. */
async function withDriver<Module>(driver: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissingModule(error)) throw error;
    throw new ProxwrightError({
      code: 'STATE_UNWRITABLE',
      detail: `This store needs the package "${driver}", which is not installed next to Proxwright.`,
      hint: `Install it: npm install ${driver} (with -g if Proxwright was installed with -g).`,
      cause: error,
    });
  }
}

/** The built command loads its parts with `require`, the library with `import`; their errors differ. */
function isMissingModule(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND';
}

async function openPostgres(spec: PostgresSpec, given: Secret | undefined, deps: StoreDeps): Promise<StateStore> {
  const { PostgresStore } = await withDriver('pg', () => import('../state/shared/postgres-store.ts'));
  const url = new URL(spec.address);
  const password = given ?? (spec.password && (await readSecret(spec.password, deps, at('state.postgres.password'))));
  if (password) deps.secrets.add(password);
  const { PGPASSWORD } = deps.environment;
  if (PGPASSWORD) deps.secrets.add(new Secret(PGPASSWORD));
  const ca = await pem(spec.ca, deps);
  // A path is that of a Unix socket. Without a host, the driver uses PGHOST, too.
  const host = decoded(url.hostname) || deps.environment.PGHOST || 'localhost';
  const isHere = isLoopback(host) || host.startsWith('/');
  return new PostgresStore({
    ...timing(deps),
    connection: {
      host: host.replace(/^\[|\]$/g, ''),
      ...(url.port !== '' && { port: Number(url.port) }),
      ...(url.username !== '' && { user: decoded(url.username) }),
      ...(url.pathname.length > 1 && { database: decoded(url.pathname.slice(1)) }),
      ...(password && { password: password.reveal() }),
      // TLS, always verified, unless the server is on this machine.
      ssl: isHere && ca === undefined ? false : { rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
    },
    ...(spec.schema !== undefined && { schema: spec.schema }),
    store: deps.stackName,
    shown: `${url.href.replace(/\/+$/, '')}#${deps.stackName}`,
  });
}

async function openS3(spec: S3Spec, deps: StoreDeps): Promise<StateStore> {
  const { S3Bucket } = await withDriver('aws4fetch', () => import('../state/shared/s3-bucket.ts'));
  const [{ S3Store }, { awsCredentials }] = await Promise.all([
    import('../state/shared/s3-store.ts'),
    import('./aws-credentials.ts'),
  ]);
  const { environment, clock, secrets, stackName, random } = deps;
  const endpoint = spec.endpoint ?? environment.AWS_ENDPOINT_URL_S3 ?? environment.AWS_ENDPOINT_URL;
  if (endpoint !== undefined) assertEncrypted(endpoint);
  const region = spec.region ?? environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION ?? 'us-east-1';
  const prefix = `${prefixOf(spec)}/${stackName}/`;
  const shown = `s3://${spec.bucket}/${prefix}`;
  const bucket = new S3Bucket({
    clock,
    random,
    shown,
    bucket: spec.bucket,
    region,
    endpoint,
    ca: await pem(spec.ca ?? environment.AWS_CA_BUNDLE, deps),
    credentials: awsCredentials({ environment, clock, secrets, region, profile: spec.profile }),
  });
  return new S3Store({ ...timing(deps), bucket, prefix, shown });
}

/** Slashes around it do not count. A server or a proxy could resolve a part `..`, and name another place. */
function prefixOf({ prefix = '' }: S3Spec): string {
  const parts = prefix.replace(/^\/+|\/+$/g, '').split('/');
  if (!parts.some((part, index) => part === '.' || part === '..' || (part === '' && (index > 0 || parts.length > 1))))
    return parts.join('/') || 'proxwright';
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `"${prefix}" cannot be the prefix of object names: its parts must not be empty, "." or "..".`,
    hint: 'Use a prefix such as infra or team/infra.',
  });
}

async function openHttp(spec: HttpSpec, given: Secret | undefined, deps: StoreDeps): Promise<StateStore> {
  const { HttpStore } = await import('../state/shared/http-store.ts');
  const { environment } = deps;
  const fromFile = given ?? (spec.password && (await readSecret(spec.password, deps, at('state.http.password'))));
  const password = fromFile ?? (environment.TF_HTTP_PASSWORD ? new Secret(environment.TF_HTTP_PASSWORD) : undefined);
  if (password) deps.secrets.add(password);
  const lockAddress = spec.lock_address ?? environment.TF_HTTP_LOCK_ADDRESS;
  const unlockAddress = spec.unlock_address ?? environment.TF_HTTP_UNLOCK_ADDRESS;
  for (const address of [spec.address, lockAddress, unlockAddress]) {
    if (address === undefined) continue;
    assertEncrypted(address);
    // A query may hold a token.
    for (const value of new URL(address).searchParams.values()) deps.secrets.add(new Secret(value));
  }
  return new HttpStore({
    ...timing(deps),
    address: spec.address,
    updateMethod: spec.update_method ?? environment.TF_HTTP_UPDATE_METHOD,
    lockAddress,
    lockMethod: spec.lock_method ?? environment.TF_HTTP_LOCK_METHOD,
    unlockAddress,
    unlockMethod: spec.unlock_method ?? environment.TF_HTTP_UNLOCK_METHOD,
    username: spec.username ?? environment.TF_HTTP_USERNAME,
    password,
    ca: await pem(spec.ca, deps),
    shown: withoutQuery(spec.address),
    stackName: deps.stackName,
    local: deps.local,
  });
}

function withoutQuery(address: string): string {
  const { origin, pathname, search } = new URL(address);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

const at = (address: string) => ({ address });

function timing({ clock, random, leaseMs, tell }: StoreDeps) {
  // The uptime of the system also counts while it is suspended; ticks do not.
  const awake = () => Math.floor(uptime() * 1000);
  return { clock, random, awake, tell, ...(leaseMs !== undefined && { ttlMs: leaseMs }) };
}

async function pem(path: string | undefined, { directory }: StoreDeps): Promise<string | undefined> {
  if (path === undefined) return undefined;
  return readTextFile(resolve(directory, path), 'a certificate', 'Name another file, or leave "ca" out.', path);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function assertEncrypted(address: string): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === 'https:' || isLoopback(hostname)) return;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `${protocol}//${hostname} is not encrypted; the state and its lock would cross the network unencrypted.`,
    hint: 'Use https, with "ca" for your own certificate authority, or a tunnel to this machine.',
  });
}
