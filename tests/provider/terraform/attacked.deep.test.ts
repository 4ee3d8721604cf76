/**
 * The installed provider under a real host, in front of a server that misbehaves: a proxy between the two loses answers,
 * delays them while another client acts, and rewrites them. What stands in the end is read from the simulated cluster itself.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Workspace } from '../../../src/provider/testing/terraform.ts';
import { ensureBuilt } from '../../e2e/built-command.ts';
import { type Cluster, startCluster, TOKEN } from '../../e2e/project.ts';
import { createGate, type Intercept, startTlsProxy, type TlsProxy } from '../../support/tls-proxy.ts';
import { SMALL, SOURCE, settings, vm } from './support/hcl.ts';
import { ONE_HOST } from './support/hosts.ts';
import { type Installed, installProvider } from './support/installed.ts';
import { hasProcesses, providerPidOf } from './support/provider-process.ts';
import { problems } from './support/scene.ts';

const SECRET = TOKEN.slice(TOKEN.indexOf('=') + 1);
const HOSTILE = `no luck ${SECRET} \u001b]0;owned\u0007 \u009b2J \u202e`;

const LIMITS = { rollout: { timeouts: { unreachable: '15s' } } };

let provider: Installed;
let cluster: Cluster;
let proxy: TlsProxy;
let workspace: Workspace;

beforeAll(async () => {
  ensureBuilt();
  provider = await installProvider();
});
afterAll(() => provider.remove());
beforeEach(async () => {
  cluster = await startCluster(60);
  proxy = await startTlsProxy(cluster.environment.PROXMOX_VE_ENDPOINT ?? '');
});
afterEach(async () => {
  await workspace.remove();
  await proxy.close();
  await cluster.close();
});

const isClone = (method: string, target: string) => method === 'POST' && target.endsWith('/clone');
const clones = () => [...cluster.world.tasks.values()].filter(({ type }) => type === 'qmclone');
const nameOf = (vmid: number) => cluster.world.vms.get(vmid)?.config.current.get('name');

/** Once, for the first request that `isMeant` selects. */
function once(isMeant: (method: string, target: string) => boolean, act: Intercept): Intercept {
  let isDone = false;
  return (request, forward) => {
    if (isDone || !isMeant(request.method, request.target)) return forward(request);
    isDone = true;
    return act(request, forward);
  };
}

describe.each(ONE_HOST)('a provider in front of a server that misbehaves, under $name $version', (host) => {
  const open = () =>
    Workspace.create({
      host,
      address: SOURCE,
      installation: provider.installation,
      environment: { PROXMOX_VE_API_TOKEN: TOKEN, ...proxy.environment },
      files: { 'main.tf': [settings(LIMITS), vm('web', { ...SMALL, vmid: 410, power: 'stopped' })].join('\n') },
    });

  it('finds the clone again whose answer was lost', async () => {
    workspace = await open();
    proxy.intercept(
      once(isClone, async (request, forward) => {
        await forward(request);
        return 'cut';
      }),
    );
    expect(problems(await workspace.apply())).toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    expect([clones().length, nameOf(410)]).toEqual([1, 'web']);
  });

  it('names a server that stopped answering, gives up in time, and completes the VM when it is back', async () => {
    workspace = await open();
    proxy.intercept(
      once(isClone, async (request, forward) => {
        await forward(request);
        await proxy.goDown();
        return 'cut';
      }),
    );
    const [problem = '', ...others] = problems(await workspace.apply());
    expect(problem).toContain('Server not reachable');
    expect(problem).toContain('has not answered since');
    expect(others).toEqual([]);
    await proxy.comeUp();
    expect(problems(await workspace.apply())).toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    expect([clones().length, nameOf(410)]).toEqual([1, 'web']);
  });

  it.skipIf(!hasProcesses)('keeps the VM of the next run although a DELETE of a killed run arrives late', async () => {
    workspace = await open();
    expect(problems(await workspace.apply())).toEqual([]);
    const held = createGate();
    const released = createGate();
    const isDelete = (method: string, target: string) => method === 'DELETE' && target.includes('/qemu/410?');
    proxy.intercept(
      once(isDelete, async (request, forward) => {
        held.open();
        await released.opened;
        return forward(request);
      }),
    );
    const destroy = workspace.start(['destroy', '-json', '-input=false', '-auto-approve']);
    await held.opened;
    process.kill(providerPidOf(destroy), 'SIGKILL');
    await destroy.result;
    const next = workspace.apply();
    // The next run has begun to read when the old request arrives.
    const before = proxy.seen.length;
    await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBeGreaterThan(before);
    released.open();
    await next;
    expect(problems(await workspace.apply())).toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    expect(nameOf(410)).toBe('web');
  });

  it.skipIf(!hasProcesses)('keeps the VM of the next run although that DELETE outlives a second destroy', async () => {
    workspace = await open();
    expect(problems(await workspace.apply())).toEqual([]);
    const held = createGate();
    const released = createGate();
    const arrived = createGate();
    proxy.intercept(
      once(
        (method, target) => method === 'DELETE' && target.includes('/qemu/410?'),
        async (request, forward) => {
          held.open();
          await released.opened;
          return forward(request).finally(() => arrived.open());
        },
      ),
    );
    const destroy = workspace.start(['destroy', '-json', '-input=false', '-auto-approve']);
    await held.opened;
    process.kill(providerPidOf(destroy), 'SIGKILL');
    await destroy.result;
    // Proxmox's proxy holds no request back for longer than 30 s; this one arrives before that.
    const release = setTimeout(() => released.open(), 15_000);
    expect(problems(await workspace.run(['destroy', '-json', '-input=false', '-auto-approve']))).toEqual([]);
    expect(problems(await workspace.apply())).toEqual([]);
    clearTimeout(release);
    released.open();
    await arrived.opened;
    await expect
      .poll(() => [...cluster.world.tasks.values()].filter(({ exitStatus }) => exitStatus === undefined))
      .toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    expect(nameOf(410)).toBe('web');
  });

  it('shows what the server says without its escape sequences and without the token', async () => {
    workspace = await open();
    proxy.intercept(
      once(isClone, async () => ({
        status: 500,
        reason: 'no luck',
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify({ data: null, message: HOSTILE })),
      })),
    );
    const { code, stdout, stderr } = await workspace.run(['apply', '-input=false', '-auto-approve', '-no-color']);
    expect(code).toBe(1);
    expect(stderr).toContain('\\x1b]0;owned\\x07');
    const kept = readdirSync(workspace.directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.tfstate'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    for (const text of [stdout, stderr, ...kept]) {
      for (const part of [SECRET, '\u001b]', '\u0007', '\u009b', '\u202e']) expect(text).not.toContain(part);
    }
  });

  it('does not destroy the VM of another client that got the id meanwhile', async () => {
    workspace = await open();
    expect(problems(await workspace.apply())).toEqual([]);
    const { outside } = cluster;
    const isStatus = (_: string, target: string) => target.endsWith('/qemu/410/status/current');
    let isRecycled = false;
    proxy.intercept(
      once(isStatus, async (request, forward) => {
        const answer = await forward(request);
        await outside.tasks.wait(await outside.node('pve1').vm(410).destroy({ purge: true }));
        await outside.tasks.wait(await outside.node('pve1').vms.create({ vmid: 410, name: 'stranger' }));
        isRecycled = true;
        return answer;
      }),
    );
    expect(problems(await workspace.run(['destroy', '-json', '-input=false', '-auto-approve']))).not.toEqual([]);
    expect([isRecycled, nameOf(410)]).toEqual([true, 'stranger']);
  });
});
