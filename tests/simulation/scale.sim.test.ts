/**
 * What large worlds cost, counted and not timed: the maps of the world count every look at a VM, a task or a volume. An
 * operation on one thing must look at as many of them in a world ten times as large; a list at no more than its share.
 */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { WireRequest } from '../../src/base/transport.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { createSimulator } from '../../src/simulator/index.ts';
import { dataOf, get, send } from '../../tools/bench/requests.ts';
import { largeWorld, NODE, TEMPLATE, TENANT_AUTHORIZATION } from '../../tools/bench/world.ts';
import { countingWorld, Visits } from './counting-world.ts';

const SMALL = 200;
const LARGE = 2_000;
const NEW_ID = 900_000;

type Ask = (request: WireRequest) => Promise<unknown>;

async function visitsOf(vmCount: number, prepare: (ask: Ask) => Promise<WireRequest>): Promise<number> {
  const clock = new VirtualClock();
  const visits = new Visits();
  const world = countingWorld(largeWorld(vmCount, clock.now()), visits);
  const simulator = createSimulator({ world, clock, random: seededRandom('scale') });
  const ask: Ask = (request) => dataOf(simulator.handle(request));
  return clock.run(async () => {
    const request = await prepare(ask);
    // The first look at a world builds its indexes and its statistics; what counts is every look after it.
    await ask(get('/cluster/resources'));
    await ask(get(`/nodes/${NODE}/storage/local/content`));
    if (request.method === 'GET') await ask(request);
    const before = visits.total;
    const answer = await ask(request);
    if (typeof answer === 'string' && answer.startsWith('UPID:')) await simulator.runtime.tasks.ended(answer);
    return visits.total - before;
  });
}

const fixed = (request: WireRequest) => async () => request;
const aClone = send('POST', `/nodes/${NODE}/qemu/${TEMPLATE}/clone`, { newid: NEW_ID });
const aFullClone = send('POST', `/nodes/${NODE}/qemu/${TEMPLATE}/clone`, { newid: NEW_ID, full: 1 });

describe('an operation on one thing', () => {
  it.each<[string, (ask: Ask) => Promise<WireRequest>]>([
    ['reading a configuration', fixed(get(`/nodes/${NODE}/qemu/1000/config`))],
    ['reading a state', fixed(get(`/nodes/${NODE}/qemu/1000/status/current`))],
    ['changing a configuration', fixed(send('PUT', `/nodes/${NODE}/qemu/1000/config`, { cores: 2 }))],
    ['asking for one path of the permissions', fixed(get('/access/permissions?path=/vms/1000', TENANT_AUTHORIZATION))],
    ['asking whether an id is free', fixed(get(`/cluster/nextid?vmid=${NEW_ID}`))],
    [
      'polling a task',
      async (ask) => get(`/nodes/${NODE}/tasks/${encodeURIComponent(String(await ask(aClone)))}/status`),
    ],
  ])('costs the same in a world ten times as large: %s', async (_name, prepare) => {
    const small = await visitsOf(SMALL, prepare);
    expect(small).toBeLessThan(50);
    expect(await visitsOf(LARGE, prepare)).toBe(small);
  });

  it.each([
    ['a linked clone', fixed(aClone)],
    ['a full clone', fixed(aFullClone)],
    ['a destruction', fixed({ ...get(`/nodes/${NODE}/qemu/1001?purge=1`), method: 'DELETE' })],
  ])('costs the same in a world ten times as large, up to the end of its task: %s', async (_name, prepare) => {
    const small = await visitsOf(SMALL, prepare);
    expect(await visitsOf(LARGE, prepare)).toBe(small);
  });
});

describe('a list', () => {
  it.each([
    ['/cluster/resources', get('/cluster/resources')],
    ['/cluster/resources of a tenant', get('/cluster/resources', TENANT_AUTHORIZATION)],
    [`/nodes/${NODE}/qemu`, get(`/nodes/${NODE}/qemu`)],
    ['the content of a storage', get(`/nodes/${NODE}/storage/local/content`)],
  ])('looks at each VM a few times, however many there are: %s', async (_name, request) => {
    const small = await visitsOf(SMALL, fixed(request));
    const large = await visitsOf(LARGE, fixed(request));
    expect(small).toBeGreaterThanOrEqual(SMALL);
    expect(small).toBeLessThanOrEqual(3 * SMALL + 20);
    expect(large).toBeLessThanOrEqual(3 * LARGE + 20);
  });
});
