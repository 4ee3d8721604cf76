/** The provider's process from outside: its first line, its sockets, its signals, its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCertificate } from '../../src/provider/host/certificate.ts';
import { frame } from '../../src/provider/host/grpc-wire.ts';
import { MAGIC_COOKIE } from '../../src/provider/host/handshake.ts';
import { Provider } from '../../src/provider/protocol/generated/tfplugin6.generated.ts';
import { HostClient } from '../../src/provider/testing/host-client.ts';
import { bundleProvider } from '../../tools/provider/bundle.ts';

const EMPTY = frame(new Uint8Array());
const identity = createCertificate(Date.now());
let root: string;
let program: string;
let temporary: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'proxwright-process-'));
  program = join(root, 'terraform-provider-toy.cjs');
  await bundleProvider(program, join(import.meta.dirname, 'toy/main.ts'));
});

beforeEach(async () => {
  temporary = await mkdtemp(join(root, 't-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rm(root, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exit: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** The fields of the first line. */
  readonly handshake: Promise<readonly string[]>;
}

function start(environment: Readonly<Record<string, string>>): Started {
  const child = spawn(program, [], {
    env: {
      PATH: process.env.PATH,
      TMPDIR: temporary,
      XDG_CACHE_HOME: join(root, 'cache'),
      TF_PLUGIN_MAGIC_COOKIE: MAGIC_COOKIE,
      PLUGIN_PROTOCOL_VERSIONS: '6,5',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const output = { stdout: '', stderr: '' };
  child.stderr?.on('data', (chunk) => {
    output.stderr += String(chunk);
  });
  const exit = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const handshake = new Promise<readonly string[]>((resolve) => {
    child.stdout?.on('data', (chunk) => {
      output.stdout += String(chunk);
      if (output.stdout.endsWith('\n')) resolve(output.stdout.trimEnd().split('|'));
    });
  });
  return { child, output, exit, handshake };
}

const encrypted = { PLUGIN_CLIENT_CERT: identity.certificatePem };

async function connectTo(started: Started, as = identity): Promise<HostClient> {
  const [, , , socketPath = '', , certificate = ''] = await started.handshake;
  const server = new X509Certificate(Buffer.from(certificate, 'base64'));
  return HostClient.connect(socketPath, { ...as, serverCertificatePem: server.toString() });
}

const sockets = () => readdirSync(temporary);

describe('a provider', () => {
  it('explains itself and exits when a person starts it', async () => {
    const { exit, output } = start({ TF_PLUGIN_MAGIC_COOKIE: '' });
    expect(await exit).toMatchObject({ code: 1 });
    expect(output.stderr).toContain('not meant to be started by hand');
    expect(output.stdout).toBe('');
  });

  it('refuses a host that does not speak protocol 6', async () => {
    const { exit, output } = start({ PLUGIN_PROTOCOL_VERSIONS: '5' });
    expect(await exit).toMatchObject({ code: 1 });
    expect(output).toMatchObject({ stdout: '', stderr: expect.stringContaining('plugin protocol 6') });
  });

  it('serves its host, and exits with 0 when the host stops it', async () => {
    const started = start(encrypted);
    const host = await connectTo(started);
    const { resourceSchemas } = await host.call(Provider.method.getProviderSchema, {});
    expect(Object.keys(resourceSchemas)).toEqual(['toy_thing']);
    expect(await host.callRaw('/grpc.health.v1.Health/Check', EMPTY)).toMatchObject({ status: 0 });
    expect(await host.callRaw('/plugin.GRPCController/Shutdown', EMPTY)).toMatchObject({ status: 0 });
    expect(await started.exit).toEqual({ code: 0, signal: null });
    expect(started.output.stdout).toMatch(/^1\|6\|unix\|[^|]+\|grpc\|[A-Za-z0-9+/]+\n$/);
    expect(started.output.stderr).toBe('');
    expect(sockets()).toEqual([]);
  });

  it('refuses a client without the certificate of its host', async () => {
    const started = start(encrypted);
    await expect(connectTo(started, createCertificate(Date.now())).then(ask)).rejects.toThrow();
    const [, , , socketPath = ''] = await started.handshake;
    await expect(HostClient.connect(socketPath).then(ask)).rejects.toThrow();
    await expect(ask(await connectTo(started))).resolves.toBeDefined();
  });

  it('keeps its socket in a directory that only its owner may enter', async () => {
    await mkdir(join(temporary, 'x'));
    const started = start({ ...encrypted, PLUGIN_UNIX_SOCKET_DIR: join(temporary, 'x') });
    const [, , , socketPath = ''] = await started.handshake;
    expect(dirname(dirname(socketPath))).toBe(join(temporary, 'x'));
    expect(statSync(dirname(socketPath)).mode & 0o777).toBe(0o700);
  });

  it('ends when the last connection of its host is gone', async () => {
    const started = start(encrypted);
    const host = await connectTo(started);
    await ask(host);
    await host.close();
    expect(await started.exit).toMatchObject({ code: 0 });
    expect(sockets()).toEqual([]);
  });

  it('ends when its host lets go of the call it holds', async () => {
    const started = start(encrypted);
    const host = await connectTo(started);
    const held = host.open('/plugin.GRPCStdio/StreamStdio', EMPTY);
    const broker = host.open('/plugin.GRPCBroker/StartStream');
    for (const stream of [held, broker]) stream.on('error', () => {});
    await new Promise((resolve) => held.once('response', resolve));
    await ask(host);
    held.close(8); // CANCEL
    expect(await started.exit).toMatchObject({ code: 0 });
  });

  it('outlives its hosts when it runs without encryption', async () => {
    const started = start({});
    const [, , , socketPath = '', , certificate] = await started.handshake;
    expect(certificate).toBe('');
    for (let turn = 0; turn < 2; turn += 1) {
      const host = await HostClient.connect(socketPath);
      await ask(host);
      await host.close();
    }
    expect(started.child.exitCode).toBeNull();
  });

  it('ignores Ctrl-C and cleans up when it is terminated', async () => {
    const started = start(encrypted);
    const host = await connectTo(started);
    started.child.kill('SIGINT');
    await ask(host);
    expect(sockets()).toHaveLength(1);
    started.child.kill('SIGTERM');
    expect(await started.exit).toMatchObject({ code: 143 });
    expect(sockets()).toEqual([]);
  });

  it('tells the host that asks that connections are not shared', async () => {
    const fields = await start({ ...encrypted, PLUGIN_MULTIPLEX_GRPC: 'true' }).handshake;
    expect(fields).toHaveLength(7);
    expect(fields[6]).toBe('false');
  });
});

function ask(host: HostClient) {
  return host.call(Provider.method.getMetadata, {});
}
