import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryStore } from './directory-store.ts';
import type { LockOwner } from './store.ts';
import { owner } from './testing/conformance.ts';

/** Beyond the greatest id that Linux gives to a process. */
const GONE = { pid: 2 ** 22 + 1 };

let directory: string;
let store: DirectoryStore;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxwright-lock-'));
  store = new DirectoryStore(directory);
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** What the name of a permit ends with. */
const keyOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const write = (name: string, text: string) => writeFile(join(directory, name), text);
const lockText = () => readFile(join(directory, 'lock'), 'utf8');

/** The lock of a live process, with one fact changed. */
async function lockWith(facts: Readonly<Record<string, string>>, changes: Partial<LockOwner> = {}): Promise<void> {
  await store.lock(owner('left'));
  const { process: recorded, ...rest } = JSON.parse(await lockText());
  await write('lock', JSON.stringify({ ...rest, ...changes, process: { ...recorded, ...facts } }));
}

describe.runIf(process.platform === 'linux')('a lock whose process cannot be identified from here', () => {
  it.each([
    ['of another boot', { boot: 'another' }, 'restarted since'],
    ['of another PID namespace', { pidNamespace: 'pid:[1]' }, 'PID namespace'],
  ])('is not taken over although no process has its id: %s', async (_, facts, words) => {
    await lockWith(facts, GONE);
    expect(await store.holder()).toMatchObject({ life: 'unknown' });
    await expect(store.lock(owner('next'))).rejects.toMatchObject({
      code: 'STATE_LOCKED',
      diagnostic: { detail: expect.stringContaining(words) },
    });
    await store.unlock({ evenOf: owner('left', GONE) });
    await (await store.lock(owner('next'))).release();
  });

  it('counts as unknown if a later process has the same id', async () => {
    await lockWith({ started: '1' });
    expect(await store.holder()).toMatchObject({ life: 'unknown', doubt: expect.stringContaining('a later one') });
    await expect(store.unlock()).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('is dead if boot and namespace are the same and the process is gone', async () => {
    await lockWith({}, GONE);
    const lock = await store.lock(owner('next'));
    expect(lock.takenOverFrom).toEqual(owner('left', GONE));
  });
});

describe('the leftovers of a run that died while it took the lock', () => {
  it.each([
    ['an empty lock', ''],
    ['a lock of zeros, as after a power failure', '\0'.repeat(200)],
  ])('need no unlocking: %s', async (_, text) => {
    await write('lock', text);
    expect(await store.holder()).toMatchObject({ life: 'dead' });
    const lock = await store.lock(owner('next'));
    expect(lock.takenOverFrom).toMatchObject({ runId: '' });
    expect(await store.holder()).toEqual({ owner: owner('next'), life: 'alive' });
    await lock.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('need no unlocking: the takeover file of an older version', async () => {
    await write('lock', JSON.stringify(owner('dead', GONE)));
    for (const text of ['', JSON.stringify(owner('successor', GONE))]) {
      await write('lock.takeover', text);
      const lock = await store.lock(owner('next'));
      await write('lock', JSON.stringify(owner('dead', GONE)));
      expect(lock.takenOverFrom).toEqual(owner('dead', GONE));
    }
    await write('lock.takeover', JSON.stringify(owner('successor')));
    await expect(store.lock(owner('next'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('need no unlocking: the permits of several runs that died one after the other', async () => {
    const texts = ['dead', 'first', 'second'].map((runId) => JSON.stringify(owner(runId, GONE)));
    const [dead = '', first = '', second = ''] = texts;
    await write('lock', dead);
    await write(`lock.takeover-${keyOf(dead)}`, first);
    await write(`lock.takeover-${keyOf(first)}`, second);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => new DirectoryStore(directory).lock(owner(`run-${index}`))),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['lock']);
  });
});
