/** Durations and concurrency: the constants of the pipeline and of the task runner, as a client observes them. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { type Method, TransportFailure, type WireResponse } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { vmLockName } from '../vm/config/locking.ts';
import { buildWorld } from '../world/build-world.ts';
import { DEFAULT_WORLD } from '../world/default-world.ts';
import { createSimulator } from './simulator.ts';

const ADMIN = 'PVEAPIToken=root@pam!admin=00000000-0000-4000-8000-000000000001';
const BUSY_VM = 700;

function cluster() {
  const clock = new VirtualClock();
  const world = buildWorld(
    {
      ...DEFAULT_WORLD,
      vms: { ...DEFAULT_WORLD.vms, [BUSY_VM]: { node: 'pve1' }, 701: { node: 'pve1' }, 702: { node: 'pve2' } },
    },
    { now: clock.now() },
  );
  const simulator = createSimulator({ world, clock, random: seededRandom('timing') });
  const startedAt = clock.now();
  const ask = async (
    method: Method,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = { authorization: ADMIN },
  ): Promise<WireResponse & { readonly atMs: number }> => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await simulator.handle({
      method,
      target: `/api2/json${path}`,
      headers: body === undefined ? headers : { ...form, ...headers },
      ...(body !== undefined && { body }),
    });
    return { ...response, atMs: clock.now() - startedAt };
  };
  /** Changes of a VM whose configuration is locked: each keeps a worker of the daemon busy for 10 s. */
  const occupyWorkers = async (count: number) => {
    const { locks } = simulator.runtime;
    await locks.acquire(vmLockName('pve1', BUSY_VM), 'exclusive', 0);
    return Array.from({ length: count }, () => ask('PUT', `/nodes/pve1/qemu/${BUSY_VM}/config`, 'cores=2'));
  };
  return { clock, world, simulator, ask, occupyWorkers };
}

describe("a node's daemon", () => {
  it('answers a third request while two are waiting', async () => {
    const { clock, ask, occupyWorkers } = cluster();
    await clock.run(async () => {
      const busy = await occupyWorkers(2);
      expect(await ask('PUT', '/nodes/pve1/qemu/701/config', 'cores=2')).toMatchObject({ status: 200, atMs: 0 });
      await Promise.all(busy);
    });
  });

  it('makes a fourth request wait until one of three is done', async () => {
    const { clock, ask, occupyWorkers } = cluster();
    await clock.run(async () => {
      const busy = await occupyWorkers(3);
      const fourth = ask('PUT', '/nodes/pve1/qemu/701/config', 'cores=2');
      for (const response of await Promise.all(busy)) expect(response).toMatchObject({ status: 500, atMs: 10_000 });
      expect(await fourth).toMatchObject({ status: 200, atMs: 10_000 });
    });
  });

  it('delays neither reads nor other nodes', async () => {
    const { clock, ask, occupyWorkers } = cluster();
    await clock.run(async () => {
      const busy = await occupyWorkers(3);
      expect(await ask('GET', '/nodes/pve1/qemu/701/config')).toMatchObject({ status: 200, atMs: 0 });
      expect(await ask('PUT', '/nodes/pve2/qemu/702/config', 'cores=2')).toMatchObject({ status: 200, atMs: 0 });
      await Promise.all(busy);
    });
  });
});

describe('pveproxy', () => {
  /** Stopping a task waits for its end; this one ignores the signal. */
  const stopping = async (workMs: number) => {
    const { clock, simulator, ask } = cluster();
    return clock.run(async () => {
      const upid = simulator.runtime.tasks.fork('pve1', 'test', '', 'root@pam!admin', () => clock.sleep(workMs));
      const response = await ask('DELETE', `/nodes/pve1/tasks/${encodeURIComponent(upid)}`);
      await simulator.runtime.tasks.ended(upid);
      return { ...response, taskStatus: simulator.world.tasks.get(upid)?.exitStatus };
    });
  };

  it('waits up to 30 s for the daemon', async () => {
    expect(await stopping(29_900)).toMatchObject({ status: 200 });
  });

  it('gives up after 30 s, while the work continues', async () => {
    expect(await stopping(30_100)).toMatchObject({
      status: 596,
      reason: 'Connection timed out',
      atMs: 30_000,
      taskStatus: 'OK',
    });
  });

  it('answers a refused login 3 s late', async () => {
    const { clock, ask } = cluster();
    const wrong = { authorization: 'PVEAPIToken=root@pam!admin=00000000-0000-4000-8000-00000000ffff' };
    const response = await clock.run(() => ask('GET', '/version', undefined, wrong));
    expect(response).toMatchObject({ status: 401, atMs: 3_000 });
  });

  it('closes a connection that gets no answer after 5 s', async () => {
    const { clock, simulator } = cluster();
    const startedAt = clock.now();
    const upload = simulator.handle({
      method: 'POST',
      target: '/api2/json/nodes/pve1/storage/local/upload?tmpfilename=/tmp/x',
      headers: { authorization: ADMIN, 'content-type': 'multipart/form-data; boundary=x' },
      body: '--x--\r\n',
    });
    await expect(clock.run(() => upload)).rejects.toBeInstanceOf(TransportFailure);
    expect(clock.now() - startedAt).toBe(5_000);
  });

  it.each([
    ['8.3', 64 * 1024],
    ['8.4', 512 * 1024],
  ])('of %s accepts a body of up to %i bytes', async (version, largest) => {
    const clock = new VirtualClock();
    const world = buildWorld({ version, nodes: { pve1: {} } }, { now: clock.now() });
    const simulator = createSimulator({ world, clock, random: seededRandom(version) });
    const reasonOf = async (sizeBytes: number) => {
      const body = `password=${'x'.repeat(sizeBytes - 'password='.length)}`;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const request = { method: 'POST', target: '/api2/json/access/ticket', headers, body } as const;
      return (await clock.run(() => simulator.handle(request))).reason;
    };
    expect(await reasonOf(largest)).not.toContain('too large');
    expect(await reasonOf(largest + 1)).toContain('too large');
  });
});

describe('a task', () => {
  it('begins 12 ms after its UPID and ends 4 ms after its work', async () => {
    const { clock, simulator } = cluster();
    const { tasks } = simulator.runtime;
    const startedAt = clock.now();
    let beganAt = 0;
    const upid = tasks.fork('pve1', 'test', '', 'root@pam', async (task) => {
      beganAt = clock.now();
      await task.sleep(100);
    });
    await clock.run(() => tasks.ended(upid));
    expect(beganAt - startedAt).toBe(12);
    expect(clock.now() - startedAt).toBe(12 + 100 + 4);
  });

  it('is in the list of finished tasks as soon as it has ended', async () => {
    const { clock, simulator } = cluster();
    const { tasks } = simulator.runtime;
    const upids = Array.from({ length: 20 }, () => tasks.fork('pve1', 'test', '', 'root@pam', async () => {}));
    await clock.run(() => Promise.all(upids.map((upid) => tasks.ended(upid))));
    const late = upids.filter((upid) => {
      const record = simulator.world.tasks.get(upid);
      return record?.endedAt === undefined || record.archivedAt !== record.endedAt;
    });
    expect(late).toEqual([]);
  });
});
