/** The page of `sim --ui`: what it tells about the simulated cluster, what it does to it, and who may ask for that. */
import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { simulatedSource } from '../../src/cli/ui/simulated.ts';
import { createPve, type Pve, parseToken } from '../../src/pve/index.ts';
import {
  ALL_FAULT_KINDS,
  createSimulator,
  defaultWorld,
  type FaultBoard,
  ruleFaults,
  type Simulator,
  scaledClock,
  seededRandom,
} from '../../src/simulator/index.ts';
import { vmLockName } from '../../src/simulator/vm/config/locking.ts';
import { SIMULATED_PAGE } from '../../src/ui/page.generated.ts';
import type { PageServer } from '../../src/ui/server/serve.ts';
import { type SimulatedView, serveSimulated } from '../../src/ui/server/simulated.ts';

const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

let server: PageServer;
let simulator: Simulator;
let faults: FaultBoard;
let pve: Pve;
beforeEach(async () => {
  faults = ruleFaults([]);
  const world = defaultWorld({ now: systemClock.now() });
  const clock = scaledClock(systemClock, 200);
  simulator = createSimulator({ world, clock, random: seededRandom('page'), faults });
  pve = createPve({ transport: simulator.transport(), credentials: parseToken(TOKEN), clock });
  const source = simulatedSource({ simulator, faults, endpoint: 'https://127.0.0.1:8006', speed: 200 });
  const deps = { files: SIMULATED_PAGE, clock: systemClock, random: systemRandom, log: silentLogger };
  server = await serveSimulated(source, deps);
});
afterEach(() => server.close());

interface Got {
  readonly status: number;
  readonly text: string;
  readonly cookie: string;
}

const portOf = () => Number(new URL(server.link).port);
const origin = () => `http://127.0.0.1:${portOf()}`;

function send(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: portOf(), path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      const cookie = response.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), cookie }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function login(): Promise<string> {
  const { pathname, search } = new URL(server.link);
  return (await send('GET', `${pathname}${search}`)).cookie;
}

async function act(cookie: string, path: string, sent: unknown): Promise<unknown> {
  const headers = { cookie, origin: origin(), 'content-type': 'application/json' };
  return JSON.parse((await send('POST', path, headers, JSON.stringify(sent))).text);
}

const view = async (cookie: string): Promise<SimulatedView> =>
  JSON.parse((await send('GET', '/api/view', { cookie })).text);

describe('the page of the simulator', () => {
  it('shows nodes, guests, tasks with their logs, and locks', async () => {
    const cookie = await login();
    const upid = await pve.node('pve1').vm(9000).clone({ newid: 701, name: 'web', full: true });
    expect((await pve.tasks.wait(upid)).outcome).toBe('ok');
    await simulator.runtime.locks.acquire(vmLockName('pve1', 701), 'exclusive', 0);
    const { nodes, tasks, locks, version } = await view(cookie);
    expect(version).toBe(simulator.world.version.version);
    expect(nodes.map(({ node, isOnline, isEntry }) => [node, isOnline, isEntry])).toEqual([
      ['pve1', true, true],
      ['pve2', true, false],
    ]);
    expect(nodes[0]?.guests.find(({ vmid }) => vmid === 701)).toMatchObject({ name: 'web', status: 'stopped' });
    expect(nodes[0]?.storages.map(({ storage }) => storage)).toContain('local-lvm');
    expect(tasks[0]).toMatchObject({ type: 'qmclone', status: 'OK', outcome: 'done', lastLine: 'TASK OK' });
    expect(locks).toEqual([
      {
        name: 'flock:pve1:701',
        words: 'configuration file of VM 701 on pve1',
        mode: 'exclusive',
        holders: 1,
        waiting: 0,
      },
    ]);
    const log = await send('GET', `/api/log/${encodeURIComponent(upid)}`, { cookie });
    expect(JSON.parse(log.text)).toEqual(simulator.world.tasks.get(upid)?.log);
    expect((await send('GET', '/api/log/UPID:none', { cookie })).status).toBe(404);
  });

  it('switches faults on and off, and tells what has struck', async () => {
    const cookie = await login();
    const { version } = await pve.authenticate();
    expect(await act(cookie, '/api/fault', { rule: 'refuse=503:GET nodes' })).toEqual({ ok: true });
    await expect(simulator.transport().send(asked('/nodes'))).resolves.toMatchObject({ status: 503 });
    const during = await view(cookie);
    expect(during.faults).toMatchObject([
      { id: 0, kind: 'refuse', rule: 'refuse=503:GET nodes', isOn: true, strikes: 1 },
    ]);
    expect(during.strikes).toMatchObject([{ kind: 'refuse', what: 'GET /nodes' }]);
    expect(await act(cookie, '/api/fault', { id: 0, isOn: false })).toEqual({ ok: true });
    expect((await view(cookie)).faults).toMatchObject([{ isOn: false }]);
    expect((await simulator.transport().send(asked('/nodes'))).status).toBe(200);
    expect(version).toBe(simulator.world.version.version);
  });

  it('says what is wrong with a rule, and adds nothing', async () => {
    const cookie = await login();
    expect(await act(cookie, '/api/fault', { rule: 'cut-aftre' })).toEqual({
      ok: false,
      detail: 'The fault rule "cut-aftre" names no kind of fault: "cut-aftre".',
      hint: 'Did you mean "cut-after"?',
    });
    expect(await act(cookie, '/api/fault', { rule: ' ' })).toMatchObject({ ok: false });
    expect(await act(cookie, '/api/fault', { id: 7, isOn: true })).toMatchObject({ ok: false });
    expect(faults.switches).toEqual([]);
  });

  it('offers every kind of fault with a rule that works', async () => {
    const cookie = await login();
    const kinds: { kind: string; example: string }[] = JSON.parse((await send('GET', '/api/kinds', { cookie })).text);
    expect(kinds.map(({ kind }) => kind)).toEqual([...ALL_FAULT_KINDS]);
    for (const { example } of kinds) expect(await act(cookie, '/api/fault', { rule: example })).toEqual({ ok: true });
    expect(faults.switches.map(({ rule }) => rule.kind)).toEqual([...ALL_FAULT_KINDS]);
  });

  it('takes a node offline and brings it back, but not the one that answers', async () => {
    const cookie = await login();
    expect(await act(cookie, '/api/node', { node: 'pve2', isOnline: false })).toEqual({ ok: true });
    expect((await simulator.transport().send(asked('/nodes/pve2/qemu'))).status).toBe(595);
    expect(await act(cookie, '/api/node', { node: 'pve2', isOnline: true })).toEqual({ ok: true });
    expect((await simulator.transport().send(asked('/nodes/pve2/qemu'))).status).toBe(200);
    expect(await act(cookie, '/api/node', { node: 'pve1', isOnline: false })).toMatchObject({ ok: false });
    expect(await act(cookie, '/api/node', { node: 'pve9', isOnline: false })).toMatchObject({ ok: false });
  });

  it('is not struck by faults itself, and not counted by them', async () => {
    const cookie = await login();
    faults.add({ kind: 'refuse' });
    faults.add({ kind: 'cut-before' });
    expect((await view(cookie)).nodes).toHaveLength(2);
    expect(faults.strikes).toEqual([]);
  });

  const JSON_TYPE = { 'content-type': 'application/json' };
  it.each<[string, (cookie: string) => Record<string, string>]>([
    ['without the cookie', () => ({ ...JSON_TYPE, origin: origin() })],
    ['without an Origin', (cookie) => ({ ...JSON_TYPE, cookie })],
    ['with a foreign Origin', (cookie) => ({ ...JSON_TYPE, cookie, origin: 'https://attacker.example' })],
    ['with an opaque Origin', (cookie) => ({ ...JSON_TYPE, cookie, origin: 'null' })],
    ['with a foreign Host', (cookie) => ({ ...JSON_TYPE, cookie, origin: origin(), host: 'attacker.example' })],
    ['as a form', (cookie) => ({ cookie, origin: origin(), 'content-type': 'text/plain' })],
    ['from another site', (cookie) => ({ ...JSON_TYPE, cookie, origin: origin(), 'sec-fetch-site': 'cross-site' })],
  ])('does nothing when asked %s', async (_, headers) => {
    const cookie = await login();
    const { status } = await send('POST', '/api/fault', headers(cookie), '{"rule":"cut-before"}');
    expect(status).toBe(403);
    expect(faults.switches).toEqual([]);
  });

  it.each([
    ['{', 400],
    [`{"rule":"${'x'.repeat(20_000)}"}`, 400],
    ['"rule"', 404],
    ['{"id":"0","isOn":true}', 404],
    ['null', 404],
  ])('does nothing with what is no request: %#', async (body, status) => {
    const headers = { ...JSON_TYPE, cookie: await login(), origin: origin() };
    expect((await send('POST', '/api/fault', headers, body)).status).toBe(status);
    expect(faults.switches).toEqual([]);
  });

  it.each(['PUT', 'DELETE', 'OPTIONS'])('refuses %s', async (method) => {
    expect((await send(method, '/api/fault', { cookie: await login(), origin: origin() })).status).toBe(405);
  });
});

const asked = (path: string) => ({
  method: 'GET' as const,
  target: `/api2/json${path}`,
  headers: { authorization: `PVEAPIToken=${TOKEN}` },
});
