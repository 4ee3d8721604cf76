/** What the bundled provider keeps between processes, and the schema that it knows without being loaded. */
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { inflateRawSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createCertificate } from '../../src/provider/host/certificate.ts';
import { frame } from '../../src/provider/host/grpc-wire.ts';
import { MAGIC_COOKIE } from '../../src/provider/host/handshake.ts';
import { Provider } from '../../src/provider/protocol/generated/tfplugin6.generated.ts';
import { HostClient } from '../../src/provider/testing/host-client.ts';
import { ROOT } from '../../tools/bundle/bundle.ts';
import { bundleProvider } from '../../tools/provider/bundle.ts';
import { schemaAnswer } from '../../tools/provider/known-schema.ts';

const EMPTY = frame(new Uint8Array());
const identity = createCertificate(Date.now());
const programs = { toy: '', whole: '' };
const children: ChildProcess[] = [];
let root: string;
let caches: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'proxwright-parts-'));
  programs.toy = join(root, 'toy.cjs');
  programs.whole = join(root, 'whole.cjs');
  await bundleProvider(programs.toy, join(import.meta.dirname, 'toy/main.ts'));
  await bundleProvider(programs.whole);
}, 60_000);

beforeEach(async () => {
  caches = await mkdtemp(join(root, 'caches-'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => rm(root, { recursive: true, force: true }));

/** One process: its host calls it as told, and stops it. */
async function serve<Result>(program: string, calls: (host: HostClient) => Promise<Result>): Promise<Result> {
  const child = spawn(program, [], {
    env: {
      PATH: process.env.PATH,
      TMPDIR: root,
      XDG_CACHE_HOME: caches,
      TF_PLUGIN_MAGIC_COOKIE: MAGIC_COOKIE,
      PLUGIN_PROTOCOL_VERSIONS: '6',
      PLUGIN_CLIENT_CERT: identity.certificatePem,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const line = await new Promise<string>((resolve) => child.stdout?.once('data', (chunk) => resolve(String(chunk))));
  const [, , , socketPath = '', , certificate = ''] = line.trimEnd().split('|');
  const server = new X509Certificate(Buffer.from(certificate, 'base64'));
  const host = await HostClient.connect(socketPath, { ...identity, serverCertificatePem: server.toString() });
  const result = await calls(host);
  await host.callRaw('/plugin.GRPCController/Shutdown', EMPTY);
  expect(await ended).toBe(0);
  return result;
}

const metadata = (host: HostClient) => host.call(Provider.method.getMetadata, {});
const validate = (host: HostClient) =>
  host.call(Provider.method.validateResourceConfig, { typeName: 'toy_thing', config: { json: Buffer.from('{}') } });
const schema = (host: HostClient) => host.callRaw('/tfplugin6.Provider/GetProviderSchema', EMPTY);

const directory = () => join(caches, 'proxwright', 'compiled');
const kept = () => (existsSync(directory()) ? readdirSync(directory()).sort() : []);
const pathOf = (name: string) => join(directory(), name);

describe('the bundle', () => {
  it('names no place of the machine that made it, so that another machine makes the same bytes', () => {
    const text = readFileSync(programs.whole, 'utf8');
    const parts = [...text.matchAll(/filename:"([^"]+)",hash:"[^"]+",packed:"([^"]+)"/g)];
    expect(parts.map(([, name]) => name)).toContain('whole-provider.cjs');
    const codes = parts.map(([, , packed = '']) => inflateRawSync(Buffer.from(packed, 'base64')).toString());
    for (const code of [text, ...codes]) expect(code.includes(ROOT)).toBe(false);
  });

  it('has parts that are read byte by byte, so that no message is garbled', () => {
    const text = readFileSync(programs.whole, 'utf8');
    for (const [, packed = ''] of text.matchAll(/packed:"([^"]+)"/g)) {
      const code = inflateRawSync(Buffer.from(packed, 'base64'));
      expect(code.toString('latin1')).toBe(code.toString('utf8'));
    }
  });
});

describe('a part of the bundle', () => {
  /** The modules of Node that it asks for, and the files of its own that run, while a process validates a VM. */
  async function usedToValidate() {
    const [, packed = ''] =
      /filename:"whole-provider.cjs",hash:"[^"]+",packed:"([^"]+)"/.exec(readFileSync(programs.whole, 'utf8')) ?? [];
    const code = inflateRawSync(Buffer.from(packed, 'base64')).toString('latin1');
    const asked = new Set<string>();
    const requireFrom = createRequire(import.meta.url);
    const spy = (name: string) => {
      asked.add(name.replace(/^node:/, ''));
      return requireFrom(name);
    };
    const ran: string[] = [];
    const note = (file: string) => ran.push(file);
    // The bundler makes a function of what runs late, under the name of its file.
    const watched = code.replace(/"((?:src|node_modules)\/[^"]+)"\([\w,]*\)\{/g, '$&loadPart("$1");');
    const module = { exports: {} };
    runInThisContext(watched)(spy, module, module.exports, note);
    const { createProvider } = module.exports as typeof import('../../src/provider/whole-provider.ts');
    const provider = await createProvider({ log: silentLogger, environment: {} });
    const vm = await provider.resources.get('proxwright_vm')?.();
    await vm?.validate({ name: 'web', node: 'pve1', memory: '1GiB' }, { writeOnlyAttributes: true });
    return { asked, ran };
  }

  it('loads neither a client for HTTPS nor programs to start before it needs them', async () => {
    const { asked } = await usedToValidate();
    expect(asked).toContain('util');
    for (const late of ['https', 'http', 'tls', 'net', 'child_process', 'crypto']) expect(asked).not.toContain(late);
  });

  it('runs nothing of the engine, the client, other resources and YAML while it validates', async () => {
    const { ran } = await usedToValidate();
    expect(ran).toContain('src/provider/kinds/vm/desired.ts');
    const late =
      /^(src\/(engine|state|convert)\/|src\/pve\/(client|tasks|api)|src\/provider\/(kinds\/(image|template)|data)\/|.*\/yaml\/)/;
    expect(ran.filter((file) => late.test(file))).toEqual([]);
  });
});

describe('compiled code', () => {
  it('is kept in the user’s cache directory, for the user alone, and used again', async () => {
    await serve(programs.toy, metadata);
    const files = kept();
    expect(files.length).toBeGreaterThan(0);
    expect(statSync(directory()).mode & 0o777).toBe(0o700);
    for (const name of files) {
      expect(statSync(pathOf(name)).mode & 0o777).toBe(0o600);
      utimesSync(pathOf(name), 1_000, 1_000);
    }
    await serve(programs.toy, metadata);
    expect(kept()).toEqual(files);
    // What is used is not written again.
    for (const name of files) expect(statSync(pathOf(name)).mtimeMs).toBe(1_000_000);
  });

  it('holds the text that it belongs to, which has no library for messages in it', async () => {
    await serve(programs.whole, metadata);
    const text = kept().map((name) => readFileSync(pathOf(name), 'latin1'));
    expect(text).toEqual(expect.arrayContaining([expect.stringContaining('createProvider')]));
    expect(text.join('')).not.toContain('FileDescriptorProto');
  });

  it('grows when a process does what none before it did', async () => {
    await serve(programs.toy, metadata);
    const files = kept();
    const sizes = () => kept().reduce((sum, name) => sum + statSync(pathOf(name)).size, 0);
    const before = sizes();
    await serve(programs.toy, async (host) => {
      await metadata(host);
      await validate(host);
    });
    expect(kept()).toEqual(files);
    expect(sizes()).toBeGreaterThan(before);
  });

  it('is kept apart for a process that only validates, because it needs less', async () => {
    await serve(programs.toy, metadata);
    const files = kept();
    await serve(programs.toy, validate);
    expect(kept().length).toBe(files.length + 1);
  });

  it('is replaced if it is damaged, and the process still serves its host', async () => {
    await serve(programs.toy, metadata);
    const files = kept();
    for (const name of files) {
      const bytes = readFileSync(pathOf(name));
      const middle = Math.floor(bytes.length / 2);
      bytes.fill(0x5a, middle, middle + 64);
      writeFileSync(pathOf(name), bytes);
    }
    const damaged = files.map((name) => readFileSync(pathOf(name)));
    expect((await serve(programs.toy, metadata)).resources).toHaveLength(1);
    files.forEach((name, place) => {
      expect(readFileSync(pathOf(name)).equals(damaged[place] ?? Buffer.alloc(0))).toBe(false);
    });
  });

  it('is neither read from nor written to a directory that others can write', async () => {
    await mkdir(directory(), { recursive: true });
    chmodSync(directory(), 0o777);
    expect((await serve(programs.toy, metadata)).resources).toHaveLength(1);
    expect(kept()).toEqual([]);
  });

  it('is removed if it belongs to an old version', async () => {
    await mkdir(directory(), { recursive: true, mode: 0o700 });
    for (let version = 0; version < 20; version++) {
      writeFileSync(pathOf(`old-${version}.bin`), 'old');
      utimesSync(pathOf(`old-${version}.bin`), version, version);
    }
    await serve(programs.toy, metadata);
    expect(kept()).toHaveLength(12);
    expect(kept()).toContain('old-19.bin');
    expect(kept()).not.toContain('old-0.bin');
  });
});

describe('the schema', () => {
  it('is in the bundle as the provider answers it, and reading it does not load the provider', async () => {
    const { status, message } = await serve(programs.whole, schema);
    expect(status).toBe(0);
    expect(Buffer.from(message ?? []).equals(Buffer.from(await schemaAnswer()))).toBe(true);
    const afterSchema = kept().length;
    const { resources } = await serve(programs.whole, metadata);
    expect(resources.map(({ typeName }) => typeName)).toContain('proxwright_vm');
    // The provider is one more part.
    expect(kept()).toHaveLength(afterSchema + 1);
  });
});
