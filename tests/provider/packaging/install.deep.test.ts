/** Real hosts install the packed provider from mirrors, write it into their lock files and hold us to that. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findHostPrograms, Workspace } from '../../../src/provider/testing/terraform.ts';
import type { Archive } from '../../../tools/provider/mirror.ts';
import { packProvider } from '../../../tools/provider/pack-provider.ts';
import { bundledScript } from '../../../tools/provider/packages.ts';
import { ADDRESS, ownPlatform, PLATFORMS, packageVersion } from '../../../tools/provider/platforms.ts';
import { SMALL, settings, vm } from '../terraform/support/hcl.ts';
import { Scene } from '../terraform/support/scene.ts';

const hosts = await findHostPrograms();
let root: string;
let script: string;
let archives: readonly Archive[];
const opened: { readonly close: () => Promise<unknown> }[] = [];

const packed = () => join(root, 'script', 'mirror');
const unpacked = () => join(root, 'script', 'mirror-unpacked');
const pack = (directory: string, text: string) =>
  packProvider({ form: 'script', platforms: PLATFORMS, directory, isUnpackedToo: true, script: text });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'proxwright-install-'));
  script = await bundledScript();
  archives = await pack(join(root, 'script'), script);
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe.skipIf(ownPlatform() === undefined).each(hosts)('$name $version', (host) => {
  async function workspace(directory: string, environment: Record<string, string> = {}): Promise<Workspace> {
    const made = await Workspace.create({
      host,
      address: ADDRESS,
      installation: { kind: 'mirror', directory },
      files: { 'main.tf': settings() },
      environment,
    });
    opened.push({ close: () => made.remove() });
    return made;
  }
  const lockOf = (made: Workspace) => readFile(join(made.directory, '.terraform.lock.hcl'), 'utf8');
  const forget = (made: Workspace) => rm(join(made.directory, '.terraform'), { recursive: true });

  it.each([
    ['packed', packed],
    ['unpacked', unpacked],
  ])('installs from a %s mirror and locks the hash we have computed', async (_, mirror) => {
    const made = await workspace(mirror());
    expect(await made.init()).toMatchObject({ code: 0 });
    const lock = await lockOf(made);
    expect(lock).toContain(`provider "${ADDRESS}"`);
    expect(hashesIn(lock)).toEqual([archives[0]?.hash]);
    await forget(made);
    expect(await made.init('-lockfile=readonly')).toMatchObject({ code: 0 });
    expect(await lockOf(made)).toBe(lock);
  });

  it.each([
    ['packed', 'mirror'],
    ['unpacked', 'mirror-unpacked'],
  ])('refuses a %s provider that is not the one in the lock file', async (_, layout) => {
    const directory = await mkdtemp(join(root, 'changing-'));
    await cp(join(root, 'script'), directory, { recursive: true });
    const made = await workspace(join(directory, layout));
    expect(await made.init()).toMatchObject({ code: 0 });
    await forget(made);
    await pack(directory, `${script}\n// changed`);
    const again = await made.init('-lockfile=readonly');
    expect(again.code).toBe(1);
    expect(flat(again.stderr)).toContain("doesn't match any of the checksums previously recorded");
  });

  it('locks all platforms by one hash', async () => {
    const made = await workspace(packed());
    const platforms = ['linux_amd64', 'linux_arm64', 'darwin_amd64', 'darwin_arm64'];
    const flags = platforms.map((platform) => `-platform=${platform}`);
    const locking = await made.run(['providers', 'lock', `-fs-mirror=${packed()}`, ...flags, ADDRESS]);
    expect(locking).toMatchObject({ code: 0 });
    expect(hashesIn(await lockOf(made))).toEqual([archives[0]?.hash]);
    expect(await made.init('-lockfile=readonly')).toMatchObject({ code: 0 });
  });

  it('installs from the same directory served as a network mirror', async () => {
    const { server, certificatePem } = await serve(packed());
    opened.push({ close: () => new Promise((resolve) => server.close(resolve)) });
    const url = `https://localhost:${(server.address() as AddressInfo).port}/`; // bound to a port, not to a pipe
    const certificate = join(root, `${host.name}.pem`);
    const configuration = join(root, `${host.name}.tfrc`);
    await writeFile(certificate, certificatePem);
    await writeFile(configuration, `provider_installation {\n  network_mirror {\n    url = "${url}"\n  }\n}\n`);
    const made = await workspace(root, { TF_CLI_CONFIG_FILE: configuration, SSL_CERT_FILE: certificate });
    expect(await made.init()).toMatchObject({ code: 0 });
    expect(hashesIn(await lockOf(made))).toContain(archives[0]?.hash);
  });

  it('plans with what it has installed', async () => {
    const scene = await Scene.open({ host, installation: { kind: 'mirror', directory: packed() } });
    opened.push(scene);
    await scene.write(vm('web', SMALL));
    expect(await scene.workspace.init()).toMatchObject({ code: 0 });
    const version = await scene.run(['version', '-json']);
    expect(JSON.parse(version.stdout)).toMatchObject({ provider_selections: { [ADDRESS]: packageVersion() } });
    const planned = await scene.plan();
    expect(planned.diagnostics).toEqual([]);
    expect(planned.code).toBe(2);
    expect(scene.requests.length).toBeGreaterThan(0);
  });
});

function hashesIn(lock: string): string[] {
  return [...lock.matchAll(/"(h1:[^"]+)"/g)].map(([, hash = '']) => hash);
}

/** Without the frame that hosts draw around errors and the breaks they put into lines. */
function flat(text: string): string {
  return text.replace(/[│╷╵]/g, ' ').replace(/\s+/g, ' ');
}

async function serve(directory: string): Promise<{ server: Server; certificatePem: string }> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  const server = createServer({ key, cert }, async (request, response) => {
    const bytes = await readFile(join(directory, new URL(request.url ?? '', 'https://localhost').pathname)).catch(
      () => undefined,
    );
    const type = request.url?.endsWith('.json') ? 'application/json' : 'application/zip';
    response.writeHead(bytes ? 200 : 404, { 'content-type': type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, certificatePem: cert };
}
