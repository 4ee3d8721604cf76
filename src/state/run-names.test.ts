/** Names of runs: unique, and in the order in which the runs held the lock. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { listRuns, lockRun, nextRunId } from './journal.ts';
import { MemoryStore } from './memory-store.ts';
import type { LockOwner } from './store.ts';

const NOON = Date.parse('2026-01-01T12:00:00.250Z');

describe('the name of a run', () => {
  const storeWith = async (...runs: string[]) => {
    const store = new MemoryStore();
    for (const run of runs) await store.write(`runs/${run}.jsonl`, '');
    return store;
  };
  const next = (store: MemoryStore) => nextRunId(store, NOON, seededRandom('names'));

  it('is its time to the second and six random digits', async () => {
    expect(await next(await storeWith())).toMatch(/^20260101T120000Z-[0-9a-f]{6}$/);
    expect(await next(await storeWith('20251231T235959Z-ffffff'))).toMatch(/^20260101T120000Z-[0-9a-f]{6}$/);
  });

  it.each([
    ['of a run later in the same second', '20260101T120000Z-ffff0a', '20260101T120000Z-ffff0b'],
    ['with leading zeros kept', '20260102T120000Z-00000f', '20260102T120000Z-000010'],
    ['of a run after a clock that was set back', '20270101T000000Z-123456', '20270101T000000Z-123457'],
    ['whose digits have run out', '20270101T000000Z-ffffff', '20270101T000000Z-ffffff0'],
    ['without digits', 'saved', 'saved0'],
  ])('sorts after the name %s', async (_, last, expected) => {
    const store = await storeWith('20250101T000000Z-000000', last);
    const name = await next(store);
    expect(name).toBe(expected);
    expect(name > last).toBe(true);
  });

  it('is the next one if a run already has it', async () => {
    const own = await next(await storeWith());
    const again = await next(await storeWith(own));
    expect(again > own).toBe(true);
    expect(again.slice(0, 17)).toBe(own.slice(0, 17));
  });
});

describe('the lock of a new run', () => {
  const owner = { who: 'anna', host: 'laptop', pid: 1, command: 'apply' };

  /** Where other runs begin and end between the choice of a name and the lock. */
  class BusyStore extends MemoryStore {
    others: ((runId: string) => string)[] = [];
    readonly locked: string[] = [];

    override async lock(next: LockOwner) {
      this.locked.push(next.runId);
      const other = this.others.shift();
      if (other) await this.write(`runs/${other(next.runId)}.jsonl`, '');
      return super.lock(next);
    }
  }
  const lockOn = (store: BusyStore) =>
    lockRun(store, { clock: new VirtualClock(), random: seededRandom('run') }, owner);

  it.each([
    ['the same name', (runId: string) => runId],
    ['a later name', (runId: string) => `${runId}0`],
  ])('gets another name if a run that began meanwhile has %s', async (_, other) => {
    const store = new BusyStore();
    store.others = [other];
    const { runId, lock } = await lockOn(store);
    const runs = await listRuns(store);
    expect(runs.every((earlier) => earlier < runId)).toBe(true);
    expect(store.locked).toEqual([expect.any(String), runId]);
    expect((await store.holder())?.owner.runId).toBe(runId);
    await lock.release();
    expect(await store.holder()).toBeUndefined();
  });

  it('keeps its name if an earlier one was taken meanwhile', async () => {
    const store = new BusyStore();
    store.others = [() => '20250101T000000Z-000000'];
    expect(store.locked).toEqual([]);
    expect([(await lockOn(store)).runId]).toEqual(store.locked);
  });

  it('is given up, and free, if others are always faster', async () => {
    const store = new BusyStore();
    store.others = Array.from({ length: 100 }, () => (runId: string) => runId);
    await expect(lockOn(store)).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    expect(await store.holder()).toBeUndefined();
  });
});
