/** What every store must do: the same tests run against each of them. */
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { emptyState } from '../../kinds/recorded.ts';
import { printState } from '../state-file.ts';
import type { LockOwner, StateStore } from '../store.ts';

export const owner = (runId: string, changes: Partial<LockOwner> = {}): LockOwner => ({
  runId,
  who: 'operator',
  host: hostname(),
  pid: process.pid,
  since: '2026-01-01T00:00:00Z',
  command: 'apply',
  ...changes,
});

export interface StoreUnderTest {
  /** A store that is empty. */
  create(): StateStore | Promise<StateStore>;
  /**
   * A second instance of the same store, as another process would have it; without it, tests of several processes are
   * left out.
   */
  another?(): StateStore;
}

/** Some stores keep nothing but a state under its name. */
const state = (serial: number, lineage = 'line') => printState({ ...emptyState('lab'), lineage, serial });

export function keepsTheContract({ create, another }: StoreUnderTest): void {
  it('keeps documents until they are removed', async () => {
    const store = await create();
    expect(await store.read('state.json')).toBeUndefined();
    await store.write('state.json', state(1));
    await store.write('state.json', state(2));
    expect(await store.read('state.json')).toBe(state(2));
    await store.remove('state.json');
    expect(await store.read('state.json')).toBeUndefined();
  });

  it('keeps every character of a text', async () => {
    const store = await create();
    const text = 'ä€漢😀 "\\\\" \\u0000 \u2028 %41 \t end';
    await store.write('state.json', state(1, text));
    await store.write('saved/1.json', `${text}\n${text}`);
    await store.append('runs/1.jsonl', text);
    expect(await store.read('state.json')).toBe(state(1, text));
    expect(await store.read('saved/1.json')).toBe(`${text}\n${text}`);
    expect(await store.read('runs/1.jsonl')).toBe(`${text}\n`);
  });

  it('appends lines in order and lists documents by prefix', async () => {
    const store = await create();
    await store.append('runs/1.jsonl', 'first');
    await store.append('runs/1.jsonl', 'second');
    await store.write('state.json', state(1));
    expect(await store.read('runs/1.jsonl')).toBe('first\nsecond\n');
    expect(await store.list()).toEqual(['runs/1.jsonl', 'state.json']);
    expect(await store.list('runs/')).toEqual(['runs/1.jsonl']);
  });

  it('rejects a second run while the first is alive, and says who and since when', async () => {
    const store = await create();
    const lock = await store.lock(owner('one'));
    await expect(store.lock(owner('two'))).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: { detail: expect.stringContaining('since 2026-01-01T00:00:00Z') },
    });
    await lock.release();
    await (await store.lock(owner('two'))).release();
  });

  it('finds no owner if there is no lock', async () => {
    const store = await create();
    expect(await store.holder()).toBeUndefined();
    expect(await store.unlock()).toBeUndefined();
  });

  it('is rejected while the run is alive, with who and since when', async () => {
    const store = await create();
    await store.lock(owner('one'));
    expect(await store.holder()).toMatchObject({ owner: owner('one'), life: 'alive' });
    await expect(store.unlock()).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: { detail: expect.stringMatching(/^operator has been running "apply" on .* since 2026-01-01/) },
    });
    await expect(store.unlock({ evenOf: owner('another') })).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    expect(await store.holder()).toMatchObject({ life: 'alive' });
  });

  it('succeeds if it names exactly that run, and the next run can lock', async () => {
    const store = await create();
    await store.lock(owner('one'));
    expect(await store.unlock({ evenOf: owner('one') })).toEqual(owner('one'));
    await (await store.lock(owner('two'))).release();
  });

  it('replaces a log as a whole and appends to it again', async () => {
    const store = await create();
    const lock = await store.lock(owner('one'));
    await store.append('runs/1.jsonl', 'first');
    await store.append('runs/1.jsonl', 'part');
    await store.write('runs/1.jsonl', 'first\nend\n');
    expect(await store.read('runs/1.jsonl')).toBe('first\nend\n');
    await store.append('runs/2.jsonl', 'other');
    await lock.release();
    expect(await store.read('runs/2.jsonl')).toBe('other\n');
    expect(await store.list('runs/')).toEqual(['runs/1.jsonl', 'runs/2.jsonl']);
  });

  it('appends to a log that was written as a whole', async () => {
    const store = await create();
    const lock = await store.lock(owner('one'));
    await store.write('runs/1.jsonl', 'first\n');
    await store.append('runs/1.jsonl', 'second');
    expect(await store.read('runs/1.jsonl')).toBe('first\nsecond\n');
    await store.write('runs/1.jsonl', 'third\n');
    await store.append('runs/1.jsonl', 'fourth');
    await lock.release();
    expect(await store.read('runs/1.jsonl')).toBe('third\nfourth\n');
  });

  it.runIf(another)('shows writes to other processes immediately', async () => {
    const store = await create();
    const other = another?.() ?? store;
    const lock = await store.lock(owner('one'));
    await store.write('state.json', state(1));
    await store.append('runs/1.jsonl', 'first');
    expect(await other.read('state.json')).toBe(state(1));
    expect(await other.read('runs/1.jsonl')).toBe('first\n');
    expect(await other.list()).toEqual(['runs/1.jsonl', 'state.json']);
    await lock.release();
  });
}
