/** Real servers for the shared stores: PostgreSQL of the system, and versitygw for S3. Each is started for one test file. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface StoreServer {
  readonly port: number;
  /** Ends it and starts it again with its data, on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const POSTGRES_ROOT = '/usr/lib/postgresql';

/** The directory of `initdb` and `postgres`; undefined if there is none. */
export function postgresDirectory(): string | undefined {
  const versions = existsSync(POSTGRES_ROOT) ? readdirSync(POSTGRES_ROOT).sort((a, b) => Number(b) - Number(a)) : [];
  const places = [...versions.map((version) => join(POSTGRES_ROOT, version, 'bin')), ...pathEntries()];
  return places.find((place) => existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres')));
}

/** versitygw, from the environment or the PATH. */
export function s3Binary(): string | undefined {
  const given = process.env['PROXWRIGHT_VERSITYGW'];
  if (given) return existsSync(given) ? given : undefined;
  return pathEntries()
    .map((place) => join(place, 'versitygw'))
    .find((path) => existsSync(path));
}

export async function startPostgres(binaries: string): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-postgres-'));
  const user = unprivilegedUser();
  if (user) chownSync(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  execFileSync(join(binaries, 'initdb'), ['-D', data, '-U', 'proxwright', '--auth=trust', '--no-sync'], {
    stdio: 'pipe',
    ...user,
  });
  const port = await freePort();
  const args = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', directory];
  return serverOf(port, directory, () => spawn(join(binaries, 'postgres'), args, { stdio: 'ignore', ...user }));
}

/** PgBouncer, from the PATH or where Debian puts it; undefined if there is none. */
export function poolerBinary(): string | undefined {
  return [...pathEntries(), '/usr/sbin'].map((place) => join(place, 'pgbouncer')).find((path) => existsSync(path));
}

export async function startPooler(binary: string, target: number, mode: string): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-pooler-'));
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(join(directory, 'users'), '"proxwright" ""\n');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(directory, 'users')}
pool_mode = ${mode}
default_pool_size = 40
`,
  );
  const user = unprivilegedUser();
  if (user) for (const path of [directory, file, join(directory, 'users')]) chownSync(path, user.uid, user.gid);
  return serverOf(port, directory, () => spawn(binary, ['-q', file], { stdio: 'ignore', ...user }));
}

export const S3_KEYS = { AWS_ACCESS_KEY_ID: 'proxwright', AWS_SECRET_ACCESS_KEY: 'only-for-tests' };
export const S3_BUCKET = 'state';

export async function startS3(binary: string): Promise<StoreServer> {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-s3-'));
  mkdirSync(join(directory, S3_BUCKET));
  const port = await freePort();
  const env = {
    ...process.env,
    ROOT_ACCESS_KEY: S3_KEYS.AWS_ACCESS_KEY_ID,
    ROOT_SECRET_KEY: S3_KEYS.AWS_SECRET_ACCESS_KEY,
  };
  const args = ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', directory];
  return serverOf(port, directory, () => spawn(binary, args, { stdio: 'ignore', env }));
}

async function serverOf(port: number, directory: string, start: () => ChildProcess): Promise<StoreServer> {
  let running = start();
  const end = async () => {
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGINT');
    await ended;
  };
  await answers(port, running);
  // Two restarts at once would end what the other one has just started.
  let change = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => {
    change = change.then(work);
    return change;
  };
  return {
    port,
    restart: () =>
      inTurn(async () => {
        await end();
        running = start();
        await answers(port, running);
      }),
    stop: async () => {
      await inTurn(end);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Waits until the port accepts connections. */
async function answers(port: number, child: ChildProcess): Promise<void> {
  const { connect } = await import('node:net');
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The server ended with code ${child.exitCode}.`);
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || address === null) throw new Error('There is no free port.');
  return address.port;
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function pathEntries(): string[] {
  return (process.env['PATH'] ?? '').split(delimiter);
}
