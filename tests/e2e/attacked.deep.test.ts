/**
 * The built command in front of a server that misbehaves: a proxy between the two holds, loses and delays requests. What
 * the result is, is read from the simulated cluster itself.
 */
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createGate, startTlsProxy, type TlsProxy } from '../support/tls-proxy.ts';
import { ensureBuilt } from './built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from './project.ts';

let cluster: Cluster;
let proxy: TlsProxy;
let project: Project;

beforeAll(() => ensureBuilt());
beforeEach(async () => {
  cluster = await startCluster(60);
  proxy = await startTlsProxy(cluster.environment.PROXMOX_VE_ENDPOINT ?? '');
  const more = 'rollout: { timeouts: { unreachable: 15s } }';
  project = makeProject(stackText({ name: 'attacked', firstId: 501, more }), {
    ...cluster.environment,
    ...proxy.environment,
    NO_COLOR: '1',
  });
});
afterEach(async () => {
  await proxy.close();
  await cluster.close();
  project.remove();
});

const ours = () => [...cluster.world.vms.keys()].filter((vmid) => vmid > 500 && vmid < 600).sort();
const isClone = (method: string, target: string) => method === 'POST' && target.endsWith('/clone');

async function expectComplete(ids: readonly number[]): Promise<void> {
  const again = await project.run('apply', '--yes');
  expect(again.code, again.stdout + again.stderr).toBe(0);
  expect(ours()).toEqual(ids);
  const plan = await project.run('plan', '--exit-code');
  expect(plan.code, plan.stdout + plan.stderr).toBe(0);
}

it('says that the server stopped answering, gives up in time, and continues when it is back', async () => {
  const cloned = createGate();
  proxy.intercept(async (request, forward) => {
    const answer = await forward(request);
    if (isClone(request.method, request.target)) cloned.open();
    return answer;
  });
  const command = project.start('apply', '--yes');
  await cloned.opened;
  await proxy.goDown();
  await command.said('has not answered since');
  const end = await command.finished;
  expect(end.code).toBe(1);
  expect(end.stderr).toContain('[UNREACHABLE]');
  await proxy.comeUp();
  await expectComplete([501, 502]);
});

it('finds the clone again whose answer was lost', async () => {
  let cuts = 0;
  proxy.intercept(async (request, forward) => {
    const answer = await forward(request);
    return isClone(request.method, request.target) && cuts++ === 0 ? 'cut' : answer;
  });
  await project.run('apply', '--yes');
  await expectComplete([501, 502]);
  expect([...cluster.world.tasks.values()].filter(({ type }) => type === 'qmclone')).toHaveLength(2);
});

it('keeps the VM of the next run although a DELETE of a killed run arrives late', async () => {
  expect((await project.run('apply', '--yes')).code).toBe(0);
  const held = createGate();
  const released = createGate();
  proxy.intercept(async (request, forward) => {
    if (request.method !== 'DELETE' || !request.target.includes('/qemu/501?')) return forward(request);
    held.open();
    await released.opened;
    return forward(request);
  });
  const destroy = project.start('destroy', '--yes');
  await held.opened;
  destroy.process.kill('SIGKILL');
  await destroy.finished;
  const next = project.start('apply', '--yes');
  // The next run has begun to read when the old request arrives.
  const before = proxy.seen.length;
  await expect.poll(() => proxy.seen.length, { timeout: 60_000 }).toBeGreaterThan(before);
  released.open();
  await next.finished;
  await expectComplete([501, 502]);
});

it('does not destroy the VM of another client that got the id meanwhile', async () => {
  expect((await project.run('apply', '--yes')).code).toBe(0);
  const { outside } = cluster;
  const node = outside.node('pve1');
  let isRecycled = false;
  proxy.intercept(async (request, forward) => {
    // While this answer is slow, another client deletes the VM and creates another one under its id.
    if (request.target.endsWith('/qemu/501/status/current') && !isRecycled) {
      isRecycled = true;
      const answer = await forward(request);
      await outside.tasks.wait(await node.vm(501).destroy({ purge: true }));
      await outside.tasks.wait(await node.vms.create({ vmid: 501, name: 'stranger' }));
      return answer;
    }
    return forward(request);
  });
  const end = await project.run('destroy', '--yes');
  expect(isRecycled).toBe(true);
  expect(end.code).toBe(1);
  expect(end.stderr).toContain('[NOT_OURS]');
  expect(cluster.world.vms.get(501)?.config.current.get('name')).toBe('stranger');
});
