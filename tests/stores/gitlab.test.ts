/** A state that GitLab manages: what it answers differently from the smallest server of Terraform's HTTP protocol. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VIRTUAL_START } from '../../src/base/virtual-clock.ts';
import { emptyState } from '../../src/kinds/recorded.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import { HttpStore } from '../../src/state/shared/http-store.ts';
import { readState, STATE_FILE, tombstone, writeState } from '../../src/state/state-file.ts';
import { keepsTheContract, owner } from '../../src/state/testing/conformance.ts';
import { type GitlabStateServer, startGitlabStateServer } from '../support/gitlab-state-server.ts';

let server: GitlabStateServer;
let machines = 0;
beforeEach(async () => {
  server = await startGitlabStateServer();
});
afterEach(() => server.stop());

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

/** A machine of its own, or another process in the directory of one. */
function storeOn(local = new MemoryStore()): HttpStore {
  return new HttpStore({
    address: server.address,
    shown: server.address,
    lockAddress: server.lockAddress,
    lockMethod: 'POST',
    unlockMethod: 'DELETE',
    stackName: 'lab',
    local,
    clock: hastyClock(),
    random: seededRandom(`machine ${++machines}`),
  });
}

const state = { ...emptyState('lab'), lineage: 'line' };
const NOBODY = 2 ** 30;

describe('a store in GitLab', () => {
  let local: MemoryStore;
  const create = () => {
    local = new MemoryStore();
    return storeOn(local);
  };
  keepsTheContract({ create, another: () => storeOn(local) });
});

describe('a state that GitLab manages', () => {
  it('names the user who holds the lock, and not the run that asks', async () => {
    const lock = await storeOn().lock(owner('one'));
    const asking = storeOn();
    await expect(asking.lock(owner('two', { who: 'ada', host: 'desk' }))).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: {
        detail: `deploy-bot has held the lock ${server.lockId} since 2026-01-01T00:00:01.000Z. Whether it still runs cannot be checked: the server does not say which process holds it.`,
      },
    });
    await lock.release();
    await (await asking.lock(owner('two'))).release();
  });

  it('lets `state unlock` remove exactly the lock whose ID was shown', async () => {
    await storeOn().lock(owner('one'));
    const asking = storeOn();
    const holder = await asking.holder();
    expect(holder).toMatchObject({ owner: { runId: server.lockId, who: 'deploy-bot' }, life: 'unknown' });
    await expect(asking.unlock()).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    await expect(asking.unlock({ evenOf: owner('one') })).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    expect(server.lockId).toBeDefined();
    await asking.unlock({ evenOf: holder?.owner });
    expect(server.lockId).toBeUndefined();
  });

  it('takes over the lock of a dead run of the same directory', async () => {
    const local = new MemoryStore();
    await storeOn(local).lock(owner('dead', { pid: NOBODY }));
    const lock = await storeOn(local).lock(owner('next'));
    expect(lock.takenOverFrom).toMatchObject({ runId: 'dead', pid: NOBODY });
    await lock.release();
    await storeOn().lock(owner('dead', { pid: NOBODY }));
    await expect(storeOn(local).lock(owner('next'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('shows the note that a state was moved, again after it came back and was moved once more', async () => {
    for (const place of ['s3://first/', 's3://second/']) {
      const store = storeOn();
      const lock = await store.lock(owner('one'));
      await store.write(STATE_FILE, tombstone(place, '2026-01-01T00:00:00Z', 'line'));
      await lock.release();
      await expect(readState(storeOn(), 'lab')).rejects.toMatchObject({
        code: 'STATE_MOVED',
        diagnostic: { detail: expect.stringContaining(place) },
      });
      const back = storeOn();
      const again = await back.lock(owner('two'));
      await back.write(STATE_FILE, (await printed(state)) ?? '');
      await again.release();
      expect(await readState(storeOn(), 'lab')).toMatchObject({ lineage: 'line' });
    }
  });

  it('accepts a state whose first answer was lost, although its serial then exists', async () => {
    const store = storeOn();
    const lock = await store.lock(owner('one'));
    server.loseAnswerTo('POST');
    await writeState(store, state);
    await writeState(store, { ...state, outages: {}, files: {}, lineage: 'other' });
    await lock.release();
    expect([...server.versions.keys()]).toEqual([1, 2]);
  });

  it('stops a run whose lock was removed, or given to another run', async () => {
    const store = storeOn();
    await store.lock(owner('one'));
    server.dropLock();
    await expect(writeState(store, state)).rejects.toMatchObject({
      code: 'LOCK_LOST',
      diagnostic: { detail: expect.stringContaining('It was removed.') },
    });
    expect(server.lockId).toBeUndefined();
    const other = storeOn();
    await other.lock(owner('two'));
    server.dropLock();
    await storeOn().lock(owner('three'));
    await expect(writeState(other, state)).rejects.toMatchObject({
      code: 'LOCK_LOST',
      diagnostic: { detail: expect.stringContaining('deploy-bot has held the lock') },
    });
  });

  it('takes a lock whose answer was lost', async () => {
    server.loseAnswerTo('POST');
    const lock = await storeOn().lock(owner('one'));
    await lock.release();
    expect(server.lockId).toBeUndefined();
  });
});

async function printed(value: typeof state): Promise<string | undefined> {
  const memory = new MemoryStore();
  await writeState(memory, value);
  return memory.read(STATE_FILE);
}
