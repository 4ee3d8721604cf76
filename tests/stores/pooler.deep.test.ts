/** PgBouncer between the store and PostgreSQL: nothing depends on a session of the server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepsTheContract, owner } from '../../src/state/testing/conformance.ts';
import { poolerBinary, type StoreServer, startPooler } from '../support/store-servers.ts';
import { POSTGRES, type StoreScene, saySkipped, sceneOf } from './stores.ts';

const binary = poolerBinary();
const missing = POSTGRES.missing ?? (binary === undefined ? 'PgBouncer is not installed' : undefined);
if (missing !== undefined) saySkipped('PostgreSQL behind a pooler', missing);

describe.skipIf(missing !== undefined)('PostgreSQL behind PgBouncer', () => {
  let direct: StoreScene;
  const poolers: StoreServer[] = [];
  const behind = async (mode: string) => {
    const pooler = await startPooler(binary ?? '', Number(new URL(direct.address).port), mode);
    poolers.push(pooler);
    return sceneOf(`postgres://proxwright@127.0.0.1:${pooler.port}/postgres`, {}, { stop: async () => {} });
  };

  beforeAll(async () => {
    direct = await POSTGRES.start();
  });
  afterAll(async () => {
    await Promise.all(poolers.map((pooler) => pooler.stop()));
    await direct.stop();
  });

  it('names the pool mode that cannot create the tables', async () => {
    const store = await (await behind('statement')).open('first');
    await expect(store.read('state.json')).rejects.toMatchObject({
      code: 'STATE_UNWRITABLE',
      diagnostic: {
        detail: expect.stringContaining('its pool_mode is "statement"'),
        hint: { text: expect.stringContaining('pool_mode') },
      },
    });
  });

  describe.each(['session', 'transaction'])('in %s mode', (mode) => {
    let scene: StoreScene;
    let stacks = 0;
    beforeAll(async () => {
      scene = await behind(mode);
    });
    keepsTheContract({ create: () => scene.open(`${mode}-${++stacks}`) });

    it('refuses what a run writes after another one took its lock', async () => {
      const [store, another] = [await scene.open(`${mode}-fenced`), await direct.open(`${mode}-fenced`)];
      await store.lock(owner('one'));
      await store.append('runs/1.jsonl', 'acknowledged');
      await another.unlock({ evenOf: owner('one') });
      await expect(store.append('runs/1.jsonl', 'late')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      expect(await another.read('runs/1.jsonl')).toBe('acknowledged\n');
    });
  });

  it('works in statement mode as well, once the tables are there', async () => {
    await (await direct.open('statement')).read('state.json');
    const store = await (await behind('statement')).open('statement');
    const lock = await store.lock(owner('one'));
    await store.append('runs/1.jsonl', 'first');
    expect(await store.read('runs/1.jsonl')).toBe('first\n');
    await lock.release();
  });
});
