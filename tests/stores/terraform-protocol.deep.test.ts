/**
 * The small HTTP server of the tests speaks Terraform's backend protocol: a real Terraform keeps its state there and locks it. So
 * what the store sends to that server is what GitLab and others receive, and the two respect each other's locks.
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { owner } from '../../src/state/testing/conformance.ts';
import { type HttpStateServer, startHttpStateServer } from '../support/http-state-server.ts';
import { saySkipped, sceneOf } from './stores.ts';

const host = ['terraform', 'tofu'].find((name) => spawnSync(name, ['version']).status === 0);
const missing = host === undefined ? 'neither terraform nor tofu is on the PATH' : undefined;
if (missing !== undefined) saySkipped("Terraform's own use of the HTTP server", missing);

describe.skipIf(missing !== undefined)('the HTTP state server', () => {
  let server: HttpStateServer;
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-backend-'));
  const run = (...args: string[]) =>
    new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
      const env = { ...process.env, TF_IN_AUTOMATION: '1', CHECKPOINT_DISABLE: '1' };
      const child = execFile(host ?? '', args, { cwd: directory, env }, (_error, stdout, stderr) =>
        resolve({ code: child.exitCode ?? 1, output: `${stdout}${stderr}` }),
      );
    });
  const configure = (text: string) =>
    writeFileSync(
      join(directory, 'main.tf'),
      `terraform {
  backend "http" {
    address        = "${server.address}"
    lock_address   = "${server.address}"
    unlock_address = "${server.address}"
  }
}
${text}
`,
    );
  const openStore = () => sceneOf(server.address, {}, { stop: async () => {} }).open('lab');

  beforeAll(async () => {
    server = await startHttpStateServer();
    configure('resource "terraform_data" "one" { input = "first" }');
    expect(await run('init', '-no-color')).toMatchObject({ code: 0 });
  });
  beforeEach(() => server.clear());
  afterAll(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('keeps the state of a real Terraform, under its lock', async () => {
    expect(await run('apply', '-auto-approve', '-no-color')).toMatchObject({ code: 0 });
    const stored = JSON.parse(server.versions.at(-1) ?? '');
    expect(stored).toMatchObject({ version: 4, resources: [{ type: 'terraform_data' }] });
    expect(JSON.parse(server.locks.at(-1) ?? '')).toMatchObject({ Operation: 'OperationTypeApply', Info: '' });
    // The lock was given back.
    expect(await run('plan', '-detailed-exitcode', '-no-color')).toMatchObject({ code: 0 });
  });

  it('makes Terraform refuse to run beside a run of Proxwright', async () => {
    const store = await openStore();
    const lock = await store.lock(owner('one', { who: 'ada' }));
    const refused = await run('apply', '-auto-approve', '-no-color');
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('Error acquiring the state lock') });
    // Of the lock in its way, Terraform shows the ID only.
    expect(refused.output).toContain(`ID=${JSON.parse(server.locks.at(-1) ?? '').ID}`);
    await lock.release();
    expect(await run('apply', '-auto-approve', '-no-color')).toMatchObject({ code: 0 });
  });

  it('makes Proxwright refuse to run beside Terraform, or on its state', async () => {
    configure(`resource "terraform_data" "one" {
  input = "second"
  provisioner "local-exec" {
    command = "until test -e ${join(directory, 'go')}; do sleep 0.1; done"
  }
}`);
    const applied = run('apply', '-auto-approve', '-no-color');
    while (server.locks.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const store = await openStore();
    await expect(store.lock(owner('two'))).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: {
        detail: expect.stringMatching(/for "OperationTypeApply"\. Whether it still runs cannot be checked/),
      },
    });
    writeFileSync(join(directory, 'go'), '');
    expect(await applied).toMatchObject({ code: 0 });
    await expect(store.read('state.json')).rejects.toMatchObject({
      code: 'BAD_VALUE',
      diagnostic: { detail: expect.stringContaining('a state of Terraform or OpenTofu') },
    });
  });

  it("gives back a lock of Proxwright with Terraform's own command", async () => {
    const store = await openStore();
    await store.lock(owner('three'));
    const { ID } = JSON.parse(server.locks.at(-1) ?? '');
    expect(await run('force-unlock', '-force', ID)).toMatchObject({ code: 0 });
    await (await store.lock(owner('four'))).release();
  });
});
