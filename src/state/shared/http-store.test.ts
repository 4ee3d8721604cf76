/** Compares what the store sends with the documented protocol of Terraform's HTTP backend. */
import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { Secret } from '../../base/secret.ts';
import { VIRTUAL_START } from '../../base/virtual-clock.ts';
import { emptyState } from '../../kinds/recorded.ts';
import { JournalWriter, nameOfJournal, readRun } from '../journal.ts';
import { MemoryStore } from '../memory-store.ts';
import { lineageIn, listBackups, writeState } from '../state-file.ts';
import { owner } from '../testing/conformance.ts';
import { HttpStore, type HttpStoreOptions } from './http-store.ts';

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  server = undefined;
});

/** Time passes only by waiting, without delay. */
function hastyClock(): Clock {
  let ticks = 0;
  return {
    now: () => VIRTUAL_START + ticks,
    ticks: () => ticks,
    sleep: async (ms) => {
      ticks += ms;
    },
  };
}

type Answer = { readonly status: number; readonly body?: string } | 'cut';

async function scene(answer: (sent: Sent) => Answer, options: Partial<HttpStoreOptions> = {}) {
  const sent: Sent[] = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, authorization: headers.authorization, body: Buffer.concat(chunks).toString() };
      sent.push(one);
      const given = answer(one);
      if (given === 'cut') request.socket.destroy();
      else response.writeHead(given.status).end(given.body);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  const address = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}/state/lab`;
  const local = new MemoryStore();
  return { sent, store: storeAt(address, local, options), local, address };
}

function storeAt(address: string, local: MemoryStore, options: Partial<HttpStoreOptions> = {}): HttpStore {
  const random = seededRandom('http');
  return new HttpStore({ address, shown: address, stackName: 'lab', local, clock: hastyClock(), random, ...options });
}

/** A server that keeps the document. */
async function keepingServer() {
  let kept: string | undefined;
  return scene(({ method, body }) => {
    if (method === 'POST') kept = body;
    if (method === 'GET') return kept === undefined ? NO_STATE : { status: 200, body: kept };
    return OK;
  });
}

const lines = (sent: readonly Sent[]) => sent.map(({ method, url }) => `${method} ${url}`);
const NO_STATE: Answer = { status: 404 };
const OK: Answer = { status: 200 };
const calm = ({ method }: Sent) => (method === 'GET' ? NO_STATE : OK);

describe('a store behind HTTP', () => {
  it('locks, posts under the ID of its lock, and unlocks, as the protocol says', async () => {
    const { sent, store } = await scene(calm, { username: 'ci', password: new Secret('token') });
    const lock = await store.lock(owner('one'));
    await writeState(store, { ...emptyState('lab'), lineage: 'line' });
    await lock.release();
    const changes = sent.filter(({ method }) => method !== 'GET');
    const { ID } = JSON.parse(changes[0]?.body ?? '');
    expect(lines(changes)).toEqual(['LOCK /state/lab', `POST /state/lab?ID=${ID}`, 'UNLOCK /state/lab']);
    expect(JSON.parse(changes[0]?.body ?? '')).toMatchObject({
      Operation: 'apply',
      Who: expect.stringMatching(/^operator@/),
    });
    expect(JSON.parse(changes[1]?.body ?? '')).toMatchObject({ version: 4, serial: 1, lineage: 'line' });
    expect(JSON.parse(changes[2]?.body ?? '')).toMatchObject({ ID });
    expect(new Set(sent.map(({ authorization }) => authorization))).toEqual(
      new Set([`Basic ${Buffer.from('ci:token').toString('base64')}`]),
    );
  });

  it('uses the methods and addresses of GitLab', async () => {
    const paths = await scene(calm);
    const lockAddress = `${paths.address}/lock`;
    const { sent, local } = paths;
    const store = new HttpStore({
      address: paths.address,
      shown: paths.address,
      lockAddress,
      unlockAddress: lockAddress,
      lockMethod: 'POST',
      unlockMethod: 'DELETE',
      stackName: 'lab',
      local,
      clock: hastyClock(),
      random: seededRandom('gitlab'),
    });
    await (await store.lock(owner('one'))).release();
    const changes = sent.filter(({ method }) => method !== 'GET');
    const { ID } = JSON.parse(changes[0]?.body ?? '');
    expect(lines(changes)).toEqual(['POST /state/lab/lock', `DELETE /state/lab/lock?ID=${ID}`]);
  });

  it.each([423, 409])('treats %i as the lock of another run, and shows it', async (status) => {
    const other = JSON.stringify({ ID: 'x', Operation: 'apply', Who: 'ada@desk', Created: '2026-01-01T00:00:00Z' });
    const { store } = await scene(({ method }) => (method === 'LOCK' ? { status, body: other } : NO_STATE));
    await expect(store.lock(owner('one'))).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: { detail: expect.stringContaining('ada@desk') },
    });
  });

  it('stops when the server no longer knows its lock', async () => {
    const { store } = await scene((one) => (one.method === 'POST' ? { status: 409 } : calm(one)));
    await store.lock(owner('one'));
    await expect(writeState(store, emptyState('lab'))).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('keeps the lineage of a new state when an event changes an identity', async () => {
    const { sent, store } = await scene(calm);
    await store.lock(owner('one'));
    await writeState(store, { ...emptyState('lab'), lineage: 'line' });
    const journal = new JournalWriter(store, hastyClock(), 'one');
    await journal.write({ event: 'runStarted', format: 2, runId: 'one', command: 'apply', who: 'tester' });
    await journal.write({ event: 'stepStarted', step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone' });
    const patch = { address: 'vm.web', vm: { vmid: 401, node: 'pve1', name: 'web', phase: 'creating' as const } };
    await journal.write({ event: 'learned', step: 'vm.web/clone', patch });
    const posted = sent.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body));
    expect(posted).toMatchObject([
      { serial: 1, lineage: 'line' },
      { serial: 2, lineage: 'line' },
    ]);
    expect(lineageIn(posted[1].proxwright.state)).toBe('line');
  });

  it('backs up the state that a run found, although events replace it before the run ends', async () => {
    const { store, local } = await keepingServer();
    await writeState(store, { ...emptyState('lab'), lineage: 'line' });
    const before = await store.read('state.json');
    await store.lock(owner('one'));
    const journal = new JournalWriter(store, hastyClock(), 'one');
    await journal.write({ event: 'runStarted', format: 2, runId: 'one', command: 'apply', who: 'tester' });
    await journal.write({ event: 'stepStarted', step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone' });
    const patch = { address: 'vm.web', vm: { vmid: 401, node: 'pve1', name: 'web', phase: 'creating' as const } };
    await journal.write({ event: 'learned', step: 'vm.web/clone', patch });
    expect(await store.read('state.json')).not.toBe(before);
    expect(await listBackups(store)).toEqual(['backups/state-00000001.json']);
    expect(await local.read('backups/state-00000001.json')).toBe(before);
  });

  it('gives the salt of the digests to every machine, together with the state', async () => {
    const { store, address } = await keepingServer();
    const machine = () => storeAt(address, new MemoryStore());
    await store.write('salt', 'first\n');
    const lock = await store.lock(owner('one'));
    await writeState(store, { ...emptyState('lab'), lineage: 'line' });
    await lock.release();
    const other = machine();
    // A local salt from before the state existed gives way.
    await other.write('salt', 'second\n');
    expect(await other.read('salt')).toBe('first\n');
    expect(await machine().list()).toEqual(['salt', 'state.json']);
    const taken = await other.lock(owner('two'));
    await writeState(other, { ...emptyState('lab'), lineage: 'line', serial: 4 });
    await taken.release();
    expect(await machine().read('salt')).toBe('first\n');
  });

  it('keeps every event on this machine when the server is lost, and posts the resulting state with the next run', async () => {
    let isDown = false;
    const { store, local, sent } = await scene((one) => (isDown ? 'cut' : calm(one)));
    const lock = await store.lock(owner('one'));
    await writeState(store, { ...emptyState('lab'), lineage: 'line' });
    const journal = new JournalWriter(store, hastyClock(), 'one');
    await journal.write({ event: 'runStarted', format: 2, runId: 'one', command: 'apply', who: 'tester' });
    await journal.write({ event: 'stepStarted', step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone' });
    isDown = true;
    const patch = { address: 'vm.web', vm: { vmid: 401, node: 'pve1', name: 'web', phase: 'creating' as const } };
    await expect(journal.write({ event: 'learned', step: 'vm.web/clone', patch })).rejects.toMatchObject({
      code: 'STATE_UNREACHABLE',
    });
    await expect(journal.write({ event: 'taskAttached', step: 'vm.web/clone', upid: 'UPID:x' })).rejects.toThrow();
    await lock.release();
    const kept = (await readRun(local, 'one')).events.map(({ event }) => event);
    expect(kept).toEqual(['runStarted', 'stepStarted', 'learned', 'taskAttached']);
    expect(await local.read(nameOfJournal('one'))).not.toContain('runEnded');
    expect(sent.filter(({ method }) => method === 'POST').length).toBeGreaterThan(2);
  });
});
