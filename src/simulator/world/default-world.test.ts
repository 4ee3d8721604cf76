/** The default world is useful immediately: these are the first things that a user does with it. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createSimulator } from '../core/simulator.ts';
import { builtInWorld, builtInWorldNames } from '../index.ts';
import { buildWorld } from './build-world.ts';
import { DEFAULT_WORLD } from './default-world.ts';

const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const NO_RIGHTS = 'guest@pve!none=00000000-0000-4000-8000-000000000002';
const DEPLOY = 'deploy@pve!ci=00000000-0000-4000-8000-000000000003';

function start() {
  const clock = new VirtualClock();
  const simulator = createSimulator({
    world: buildWorld(DEFAULT_WORLD, { now: clock.now() }),
    clock,
    random: seededRandom('default'),
  });
  const ask = async (token: string, method: string, path: string, params: Record<string, string> = {}) => {
    const form = new URLSearchParams(params).toString();
    const answer = await simulator.handle({
      method,
      target: `/api2/json${path}`,
      headers: { authorization: `PVEAPIToken=${token}` },
      ...(form !== '' && { body: form }),
    });
    const body = answer.body === '' ? {} : JSON.parse(answer.body);
    return { status: answer.status, reason: answer.reason, data: body.data };
  };
  const finish = async (token: string, method: string, path: string, params: Record<string, string> = {}) => {
    const { status, reason, data } = await ask(token, method, path, params);
    if (status !== 200) return `${status} ${reason}`;
    await simulator.runtime.tasks.ended(String(data));
    return simulator.world.tasks.get(String(data))?.exitStatus;
  };
  return { clock, simulator, ask, finish };
}

it.each(builtInWorldNames())('reports only loopback addresses for the nodes of "%s"', (name) => {
  const world = builtInWorld(name, { now: 0 });
  const addresses = [...(world?.nodes.values() ?? [])].flatMap(({ address, bridges }) => [
    address,
    ...[...bridges.values()].flatMap(({ cidr }) => cidr ?? []),
  ]);
  expect(addresses.length).toBeGreaterThan(0);
  expect(addresses.filter((address) => !address.startsWith('127.'))).toEqual([]);
});

describe('the default world', () => {
  it('has two nodes in a cluster, with their storages', async () => {
    const { clock, ask } = start();
    await clock.run(async () => {
      const { data: nodes } = await ask(ADMIN, 'GET', '/nodes');
      expect(nodes.map((node: { node: string }) => node.node).sort()).toEqual(['pve1', 'pve2']);
      for (const node of ['pve1', 'pve2']) {
        const { data: storages } = await ask(ADMIN, 'GET', `/nodes/${node}/storage`);
        expect(
          storages.map((storage: { storage: string; active: number }) => [storage.storage, storage.active]).sort(),
        ).toEqual([
          ['local', 1],
          ['local-lvm', 1],
          ['nfs', 1],
        ]);
      }
    });
  });

  it.each([
    ['pve1', 9000, ADMIN],
    ['pve2', 9010, DEPLOY],
  ])('has a template on %s that becomes a VM with an address', async (node, source, token) => {
    const { clock, ask, finish } = start();
    await clock.run(async () => {
      const path = `/nodes/${node}/qemu`;
      expect(await finish(token, 'POST', `${path}/${source}/clone`, { newid: '100', name: 'web', full: '1' })).toBe(
        'OK',
      );
      expect(await finish(token, 'POST', `${path}/100/status/start`)).toBe('OK');
      await clock.sleep(30_000);
      const { data } = await ask(token, 'GET', `${path}/100/agent/network-get-interfaces`);
      expect(JSON.stringify(data)).toMatch(/"ip-address":"10\.10\.0\.\d+"/);
    });
  });

  it('has Talos templates and a machine with a GPU under a name', async () => {
    const { clock, finish } = start();
    await clock.run(async () => {
      const clone = '/nodes/pve1/qemu/9001/clone';
      expect(await finish(ADMIN, 'POST', clone, { newid: '100', name: 'talos', storage: 'nfs', full: '1' })).toBe('OK');
      const config = { hostpci0: 'mapping=gpu,pcie=1', machine: 'q35' };
      expect(await finish(ADMIN, 'POST', '/nodes/pve1/qemu/100/config', config)).toBe('OK');
      expect(await finish(ADMIN, 'POST', '/nodes/pve1/qemu/100/status/start')).toBe('OK');
    });
  });

  it('lets the token without rights log in and see nothing', async () => {
    const { clock, ask } = start();
    await clock.run(async () => {
      expect(await ask(NO_RIGHTS, 'GET', '/version')).toMatchObject({ status: 200 });
      expect(await ask(NO_RIGHTS, 'GET', '/cluster/resources?type=vm')).toMatchObject({ status: 200, data: [] });
      expect(await ask(NO_RIGHTS, 'GET', '/nodes/pve1/qemu/9000/config')).toMatchObject({ status: 403 });
    });
  });

  it('keeps the deployment user from administration', async () => {
    const { clock, ask } = start();
    await clock.run(async () => {
      expect(await ask(DEPLOY, 'POST', '/access/users', { userid: 'x@pve' })).toMatchObject({ status: 403 });
    });
  });
});
