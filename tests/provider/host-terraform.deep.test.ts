/** The toy provider driven by real Terraform and OpenTofu, started by them as users' providers are. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { KnownSecrets } from '../../src/base/secret.ts';
import { reattach } from '../../src/provider/testing/reattach.ts';
import { findHostPrograms, type RunResult, Workspace } from '../../src/provider/testing/terraform.ts';
import { bundleProvider } from '../../tools/provider/bundle.ts';
import { createToyProvider, TOY_ADDRESS } from './toy/toy-provider.ts';

const hosts = await findHostPrograms();
const REQUIRED = `terraform {\n  required_providers {\n    toy = { source = "${TOY_ADDRESS}" }\n  }\n}\n`;

const EVERYTHING = `${REQUIRED}
resource "toy_thing" "all" {
  name    = "all"
  number  = 9007199254740993123.5
  flag    = true
  numbers = [1, 0.1, 18446744073709551616, -5]
  tags    = ["b", "a"]
  labels  = { "__proto__" = "x", "" = "empty", "e\u0301" = "accent" }
  single  = { size = 1 }
  list    = [{ size = 1 }, { label = "two" }]
  map     = { "__proto__" = { size = 9223372036854775807 }, b = {} }
  secret  = "hidden"
}
resource "toy_thing" "next" {
  name   = "after-\${toy_thing.all.id}"
  labels = {}
  list   = []
}
data "toy_echo" "echo" {
  input = "aab"
}
output "counts" {
  value = data.toy_echo.echo.counts
}
`;

describe.each(hosts)('a provider under $name $version', (host) => {
  let root: string;
  let store: string;
  let workspace: Workspace;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'proxwright-toy-'));
    await bundleProvider(join(root, 'bin', 'terraform-provider-toy.cjs'), join(import.meta.dirname, 'toy/main.ts'));
  });

  beforeEach(async () => {
    store = await mkdtemp(join(root, 'store-'));
    await mkdir(join(store, 'tmp'));
    workspace = await Workspace.create({
      host,
      address: TOY_ADDRESS,
      installation: { kind: 'dev-override', directory: join(root, 'bin') },
      // Its own directory for sockets, so that one left behind is seen.
      environment: { TOY_STORE: store, TMPDIR: join(store, 'tmp') },
    });
  });

  afterEach(() => workspace.remove());
  afterAll(() => rm(root, { recursive: true, force: true }));

  const leftovers = () => readdirSync(join(store, 'tmp')).filter((name) => name.startsWith('pw-'));
  const configure = (text: string) => workspace.write('main.tf', text);

  /** Waits until the provider is in the middle of something, and says which process it is. */
  async function providerAtWork(): Promise<number> {
    const file = join(store, 'waiting');
    while (!existsSync(file) || readFileSync(file, 'utf8') === '')
      await new Promise((resolve) => setTimeout(resolve, 20));
    return Number(readFileSync(file, 'utf8'));
  }

  async function untilGone(pid: number): Promise<void> {
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  it('creates, finds nothing to do, updates, replaces and destroys values of every kind', async () => {
    await configure(EVERYTHING);
    expect(await workspace.apply()).toSatisfy(succeeded);
    expect((await workspace.plan()).code).toBe(0);
    const state = await workspace.state();
    expect(state.get('toy_thing.next')).toMatchObject({ id: 'id-after-id-all', labels: {}, list: [], map: null });
    expect(state.get('data.toy_echo.echo')).toMatchObject({ counts: { a: 2, b: 1 } });

    await configure(EVERYTHING.replace('size = 9223372036854775807', 'size = 9223372036854775806'));
    expect((await workspace.plan()).code).toBe(2);
    expect(await workspace.apply()).toSatisfy(succeeded);
    expect((await workspace.plan()).code).toBe(0);

    await configure(EVERYTHING.replace('flag    = true', 'fixed = "new"'));
    const replaced = await workspace.apply();
    expect(replaced).toSatisfy(succeeded);
    expect(replaced.messages.find(({ type }) => type === 'planned_change')).toMatchObject({
      change: { action: 'replace', resource: { addr: 'toy_thing.all' } },
    });
    expect((await workspace.plan()).code).toBe(0);

    expect(await workspace.destroy()).toSatisfy(succeeded);
    expect(readdirSync(store)).toEqual(['tmp']);
    expect(leftovers()).toEqual([]);
  });

  it('puts every digit of a number where it belongs', async () => {
    await configure(EVERYTHING);
    await workspace.apply();
    const stored = readFileSync(join(store, 'id-all.json'), 'utf8');
    expect(stored).toContain('"number":9007199254740993123.5');
    expect(stored).toContain('"numbers":[1,0.1,18446744073709551616,-5]');
    expect(stored).toContain('{"__proto__":{"size":9223372036854775807,"label":null}');
  });

  it('points at the line of what is wrong', async () => {
    await configure(`${REQUIRED}
resource "toy_thing" "bad" {
  name    = "bad"
  flag    = false
  numbers = [
    1,
    13,
  ]
  tags   = ["bad"]
  single = { size = 13 }
  map = {
    a = {}
    b = { size = 13 }
  }
}
`);
    const { diagnostics } = await workspace.validate();
    const lines = Object.fromEntries(diagnostics.map(({ summary, range }) => [summary, range?.start.line]));
    expect(lines).toMatchObject({
      'Bad name': 8,
      'Odd flag': 9,
      'Bad number': 12,
      'Bad tag': 14,
      'Bad single': 15,
      'Bad size': 18,
    });
    const detail = (summary: string) => diagnostics.find((diagnostic) => diagnostic.summary === summary)?.detail;
    expect(detail('Bad size')).toBe('Unlucky.\n\nThis is about map["b"].size.');
    expect(detail('Bad name')).toBe('Not this one.');
    expect(diagnostics.find(({ summary }) => summary === 'Odd flag')?.severity).toBe('warning');
  });

  it('tells a defect from a mistake, and keeps secrets out of both', async () => {
    await configure(`${REQUIRED}
provider "toy" {
  token = "hunter2"
}
resource "toy_thing" "bug" {
  name   = "bug"
  secret = "hunter2"
}
`);
    const { code, diagnostics, stdout, stderr } = await workspace.run(['apply', '-json', '-auto-approve'], {
      TF_LOG_PROVIDER: 'trace',
    });
    expect(code).toBe(1);
    expect(diagnostics).toMatchObject([
      {},
      { summary: 'Internal error', detail: expect.stringContaining('ApplyResourceChange failed: broken at •••.') },
    ]);
    expect(stderr).toMatch(/\[ERROR\].*ApplyResourceChange failed.*toy-provider|\[ERROR\].*ApplyResourceChange failed/);
    expect(stdout + stderr).not.toContain('hunter2');
  });

  it('shows a crash as a readable panic and leaves no socket', async () => {
    await configure(`${REQUIRED}resource "toy_thing" "a" {\n  name = "crash"\n}\n`);
    const { code, stdout, stderr } = await workspace.run(['apply', '-auto-approve', '-no-color']);
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(/Stack trace from the .* plugin:\s+panic: TypeError: the toy fell down/);
    expect(stdout + stderr).toContain('plugin crashed!');
    expect(stdout + stderr).toMatch(/at .*whole-provider\.cjs/);
    expect(leftovers()).toEqual([]);
  });

  it('stops on Ctrl-C and records exactly what exists', async () => {
    await configure(
      `${REQUIRED}resource "toy_thing" "a" {\n  name = "slow"\n}\nresource "toy_thing" "b" {\n  name = "quick"\n}\n`,
    );
    const { child, result } = workspace.start(['apply', '-json', '-auto-approve']);
    await providerAtWork();
    while (!existsSync(join(store, 'id-quick.json'))) await new Promise((resolve) => setTimeout(resolve, 20));
    process.kill(-(child.pid ?? Number.NaN), 'SIGINT');
    const { code, diagnostics } = await result;
    expect(code).toBe(1);
    expect(diagnostics.map(({ summary }) => summary)).toContain('Stopped');
    expect([...(await workspace.state()).keys()]).toEqual(['toy_thing.b']);
  });

  it('ends when its host is killed', async () => {
    await configure(`${REQUIRED}resource "toy_thing" "a" {\n  name = "slow"\n}\n`);
    const { child, result } = workspace.start(['apply', '-json', '-auto-approve']);
    const pid = await providerAtWork();
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGKILL');
    await untilGone(pid);
    expect(leftovers()).toEqual([]);
    await result;
  });

  it('keeps stray output away from the host', async () => {
    await configure(`${REQUIRED}resource "toy_thing" "a" {\n  name = "noisy"\n}\n`);
    const { code, stderr } = await workspace.run(['apply', '-auto-approve'], { TF_LOG_PROVIDER: 'debug' });
    expect(code).toBe(0);
    expect(stderr).toContain('a line that belongs nowhere');
    expect(stderr).toContain('another one');
  });

  it('logs at the level the host is asked for, or a quieter one', async () => {
    await configure(
      `${REQUIRED}provider "toy" {\n  token = "hunter2"\n}\nresource "toy_thing" "a" {\n  name = "a"\n}\n`,
    );
    const made = async (environment: Record<string, string>) => {
      await workspace.destroy();
      const { stderr } = await workspace.run(['apply', '-auto-approve'], environment);
      expect(stderr).not.toContain('hunter2');
      return [...stderr.matchAll(/\[(\w+)\]\s+provider\.\S+: made at (\w+): .*name=a/g)].map(
        ([, shown, said]) => `${shown} ${said}`,
      );
    };
    expect(await made({ TF_LOG: 'debug' })).toEqual(['DEBUG debug', 'INFO info', 'WARN warn', 'ERROR error']);
    expect(await made({ TF_LOG_PROVIDER: 'warn' })).toEqual(['WARN warn', 'ERROR error']);
    expect(await made({ TF_LOG: 'trace', PROXMOX_LOG_LEVEL: 'error' })).toEqual(['ERROR error']);
    expect(await made({})).toEqual([]);
  });

  it('is found where the test itself serves it', async () => {
    const provider = createToyProvider({
      log: silentLogger,
      environment: { TOY_STORE: store },
      secrets: new KnownSecrets(),
    });
    const attached = await reattach(provider, TOY_ADDRESS);
    const installation = { kind: 'reattach', environment: attached.environment } as const;
    const own = await Workspace.create({ host, address: TOY_ADDRESS, installation, files: { 'main.tf': EVERYTHING } });
    try {
      expect(await own.apply()).toSatisfy(succeeded);
      expect((await own.plan()).code).toBe(0);
      expect(readdirSync(store)).toContain('id-all.json');
    } finally {
      attached.close();
      await own.remove();
    }
  });

  it('is installed from a mirror and locked', async () => {
    const platform = `${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
    const place = join(root, 'mirror', TOY_ADDRESS, '1.2.3', platform);
    await mkdir(place, { recursive: true });
    await copyFile(join(root, 'bin', 'terraform-provider-toy.cjs'), join(place, 'terraform-provider-toy_v1.2.3.cjs'));
    const own = await Workspace.create({
      host,
      address: TOY_ADDRESS,
      installation: { kind: 'mirror', directory: join(root, 'mirror') },
      files: { 'main.tf': EVERYTHING },
      environment: { TOY_STORE: store },
    });
    try {
      expect((await own.init()).code).toBe(0);
      expect(readFileSync(join(own.directory, '.terraform.lock.hcl'), 'utf8')).toContain('version = "1.2.3"');
      expect((await own.init('-lockfile=readonly')).code).toBe(0);
      expect(await own.apply()).toSatisfy(succeeded);
    } finally {
      await own.remove();
    }
  });

  it('serves without encryption where the host wants none', async () => {
    await configure(EVERYTHING);
    const { code } = await workspace.run(['apply', '-auto-approve'], { TF_DISABLE_PLUGIN_TLS: '1' });
    expect(code).toBe(0);
    expect(leftovers()).toEqual([]);
  });
});

function succeeded({ code, diagnostics }: RunResult): boolean {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(JSON.stringify(errors, null, 2));
  return code === 0;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
