/** Every store keeps the same contract, on the real server that holds it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { keepsTheContract, owner } from '../../src/state/testing/conformance.ts';
import { HTTP, POSTGRES, S3, type StoreScene, saySkipped, sceneOf } from './stores.ts';

const CANNOT_CONNECT_NOW = '57P03';

/** A server that is still starting accepts connections, and refuses them then. */
async function connected(address: string): Promise<Client> {
  for (;;) {
    const client = new Client(address);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === CANNOT_CONNECT_NOW)) throw error;
    }
    await systemClock.sleep(50);
  }
}

describe.skipIf(POSTGRES.missing !== undefined)('PostgreSQL, for a user who may not create schemas', () => {
  let scene: StoreScene;
  let admin: Client;
  beforeAll(async () => {
    scene = await POSTGRES.start();
    admin = await connected(scene.address);
    await admin.query('create role app login');
  });
  afterAll(async () => {
    await admin.end();
    await scene.stop();
  });

  it('says what an administrator has to do, and works in the schema that was created for the user', async () => {
    const asUser = sceneOf(scene.address.replace('proxwright@', 'app@'), {}, { stop: async () => {} });
    await expect((await asUser.open('lab')).read('state.json')).rejects.toMatchObject({
      code: 'STATE_UNWRITABLE',
      diagnostic: { hint: { text: expect.stringContaining('create schema proxwright authorization') } },
    });
    await admin.query('create schema proxwright authorization app');
    const store = await asUser.open('lab');
    const lock = await store.lock(owner('one'));
    await store.write('state.json', 'one');
    await lock.release();
    expect(await store.read('state.json')).toBe('one');
    await store.close?.();
    await asUser.stop();
  });
});

describe('a store behind HTTP', () => {
  // An address has one state, so each test has a server of its own.
  let scene: StoreScene | undefined;
  let machine: string;
  const create = async () => {
    scene = await HTTP.start();
    machine = mkdtempSync(join(tmpdir(), 'proxwright-http-'));
    return scene.open('lab', machine);
  };
  afterEach(async () => {
    await scene?.stop();
    scene = undefined;
    rmSync(machine, { recursive: true, force: true });
  });
  keepsTheContract({ create });
});

for (const kind of [POSTGRES, S3]) {
  if (kind.missing !== undefined) saySkipped(`the store in ${kind.name}`, kind.missing);

  describe.skipIf(kind.missing !== undefined)(`a store in ${kind.name}`, () => {
    let scene: StoreScene;
    beforeAll(async () => {
      scene = await kind.start();
    });
    afterAll(() => scene.stop());

    let stacks = 0;
    let last = '';
    let another: Awaited<ReturnType<StoreScene['open']>>;
    const create = async () => {
      last = `stack-${++stacks}`;
      another = await scene.open(last);
      return scene.open(last);
    };
    keepsTheContract({ create, another: () => another });

    it('refuses what a run writes after another one took its lock', async () => {
      const store = await create();
      const lock = await store.lock(owner('one'));
      await store.write('state.json', 'one');
      await store.append('runs/1.jsonl', 'acknowledged');
      await another.unlock({ evenOf: owner('one') });
      const next = await another.lock(owner('two'));
      await expect(store.append('runs/1.jsonl', 'late')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      await expect(store.append('runs/3.jsonl', 'late')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      await expect(store.write('state.json', 'late')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      await expect(store.remove('state.json')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      expect(await another.read('runs/1.jsonl')).toBe('acknowledged\n');
      expect(await another.read('state.json')).toBe('one');
      await another.append('runs/2.jsonl', 'two');
      await lock.release();
      expect(await another.holder()).toMatchObject({ owner: { runId: 'two' } });
      await next.release();
      expect(await store.read('runs/2.jsonl')).toBe('two\n');
    });

    it('lets one of many runs have the lock', async () => {
      await create();
      const views = await Promise.all(Array.from({ length: 6 }, () => scene.open(last)));
      const tries = await Promise.allSettled(views.map((view, index) => view.lock(owner(`run-${index}`))));
      const taken = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      expect(taken).toHaveLength(1);
      await taken[0]?.release();
    });

    it('shows a reader all lines that it has shown before, while runs end and replace their logs', async () => {
      const store = await create();
      const counts: number[] = [];
      let isOver = false;
      const reading = (async () => {
        while (!isOver) counts.push((await another.read('runs/1.jsonl'))?.split('\n').length ?? 0);
      })();
      const lines: string[] = [];
      for (let run = 0; run < 6; run++) {
        const lock = await store.lock(owner(`run-${run}`));
        for (let line = 0; line < 10; line++) {
          lines.push(`${run} ${line}`);
          await store.append('runs/1.jsonl', `${run} ${line}`);
        }
        lines.push(`${run} end`);
        await store.write('runs/1.jsonl', `${lines.join('\n')}\n`);
        await lock.release();
      }
      isOver = true;
      await reading;
      expect(counts.filter((count, index) => count < (counts[index - 1] ?? 0))).toEqual([]);
      expect(await another.read('runs/1.jsonl')).toBe(`${lines.join('\n')}\n`);
    });

    it('keeps a state of 20 MB', async () => {
      const store = await create();
      const text = 'x'.repeat(20_000_000);
      const lock = await store.lock(owner('one'));
      await store.write('state.json', text);
      expect((await another.read('state.json')) === text).toBe(true);
      await lock.release();
    });

    it('keeps the stacks of one server apart', async () => {
      const one = await create();
      const lock = await one.lock(owner('one'));
      await one.write('state.json', 'one');
      const two = await create();
      const other = await two.lock(owner('two'));
      expect(await two.read('state.json')).toBeUndefined();
      await Promise.all([lock.release(), other.release()]);
    });

    it('continues after a restart of its server', async () => {
      const store = await create();
      const lock = await store.lock(owner('one'));
      await store.append('runs/1.jsonl', 'before');
      await scene.restart?.();
      await store.append('runs/1.jsonl', 'after');
      expect(await another.read('runs/1.jsonl')).toBe('before\nafter\n');
      await lock.release();
    });
  });
}
