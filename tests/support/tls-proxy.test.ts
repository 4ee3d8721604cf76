/** What the proxy of the process tests does to a request, seen by the real client in front of a simulator. */
import { Buffer } from 'node:buffer';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { hasCode } from '../../src/base/errors.ts';
import { createPve, fingerprintTrust, type Pve, parseEndpoint, parseToken } from '../../src/pve/index.ts';
import { type Cluster, startCluster, TOKEN } from '../e2e/project.ts';
import { createGate, startTlsProxy, type TlsProxy } from './tls-proxy.ts';

let cluster: Cluster;
let proxy: TlsProxy;
let pve: Pve;

beforeAll(async () => {
  cluster = await startCluster(60);
});
beforeEach(async () => {
  proxy = await startTlsProxy(cluster.environment.PROXMOX_VE_ENDPOINT ?? '');
  const connection = { endpoint: parseEndpoint(proxy.endpoint), trust: fingerprintTrust(proxy.fingerprint) };
  pve = createPve({ connection, credentials: parseToken(TOKEN) });
});
afterEach(async () => {
  await pve.close();
  await proxy.close();
});
afterAll(() => cluster?.close());

const vms = () => pve.node('pve1').vms;
const create = (vmid: number) => vms().create({ vmid, name: `vm-${vmid}` });

it('passes requests on, and says which', async () => {
  await pve.tasks.wait(await create(3001));
  expect(cluster.world.vms.has(3001)).toBe(true);
  expect(proxy.seen).toContain('POST /nodes/pve1/qemu');
});

it('delivers a request after its client has gone', async () => {
  const gate = createGate();
  const arrived = createGate();
  const done = createGate();
  proxy.intercept(async (request, forward) => {
    if (request.method !== 'POST') return forward(request);
    arrived.open();
    await gate.opened;
    const answer = await forward(request);
    done.open();
    return answer;
  });
  const stop = new AbortController();
  const lost = vms().create({ vmid: 3002 }, { signal: stop.signal });
  await arrived.opened;
  stop.abort();
  await expect(lost).rejects.toSatisfy((error) => hasCode(error, 'CANCELED'));
  expect(cluster.world.vms.has(3002)).toBe(false);
  gate.open();
  await done.opened;
  expect([...cluster.world.tasks.values()].some(({ type, id }) => type === 'qmcreate' && id === '3002')).toBe(true);
});

it('cuts before or after the server has acted, and rewrites answers', async () => {
  proxy.intercept(async (request, forward) => {
    if (request.method !== 'POST') return forward(request);
    if (request.body.toString().includes('vmid=3004')) await forward(request);
    return 'cut';
  });
  await expect(create(3003)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  await expect(create(3004)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  const tasks = [...cluster.world.tasks.values()].map(({ id }) => id);
  expect(tasks).toContain('3004');
  expect(tasks).not.toContain('3003');
  proxy.intercept(async (request, forward) => {
    const answer = await forward(request);
    return { ...answer, body: Buffer.from('{"data":[]}') };
  });
  expect(await pve.nodes()).toEqual([]);
});

it('goes down and comes up on the same port', async () => {
  await pve.authenticate();
  await proxy.goDown();
  await expect(vms().list({}, { attempts: 1 })).rejects.toMatchObject({ code: 'UNREACHABLE' });
  await proxy.comeUp();
  expect((await vms().list()).length).toBeGreaterThan(0);
});
