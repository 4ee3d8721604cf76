import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DirectoryStore } from './directory-store.ts';
import { MemoryStore } from './memory-store.ts';
import type { LockOwner, StateStore } from './store.ts';
import { keepsTheContract, owner } from './testing/conformance.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxwright-store-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const STORES = [
  ['MemoryStore', (): StateStore => new MemoryStore()],
  ['DirectoryStore', (): StateStore => new DirectoryStore(join(directory, 'stack'))],
] as const;

describe.each(STORES)('%s', (_name, create) => {
  keepsTheContract({ create });
});

const abandoned = async (): Promise<StateStore> => {
  const memory = new MemoryStore();
  await memory.lock(owner('left'));
  memory.abandonLock();
  return memory;
};

const leftBehind = async (changes: Partial<LockOwner>): Promise<StateStore> => {
  await writeFile(join(directory, 'lock'), JSON.stringify(owner('left', changes)));
  return new DirectoryStore(directory);
};

describe('the lock of a dead run', () => {
  it('is removed without force', async () => {
    for (const store of [await abandoned(), await leftBehind({ pid: 2 ** 22 + 1 })]) {
      expect(await store.holder()).toMatchObject({ life: 'dead' });
      expect(await store.unlock()).toMatchObject({ runId: 'left' });
      expect(await store.holder()).toBeUndefined();
    }
  });
});

describe('a lock whose run may be alive', () => {
  it('is that of another host, or one that cannot be read', async () => {
    const store = await leftBehind({ host: 'elsewhere' });
    const far = await store.holder();
    expect(far).toMatchObject({ life: 'unknown', owner: { host: 'elsewhere' } });
    await expect(store.unlock()).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    await writeFile(join(directory, 'lock'), 'torn');
    await expect(store.unlock({ evenOf: far?.owner })).rejects.toMatchObject({
      diagnostic: { detail: 'There is a lock, but it cannot be read, so its owner is not known.' },
    });
    const torn = await store.holder();
    expect(torn).toMatchObject({ life: 'unknown' });
    await store.unlock({ evenOf: torn?.owner });
    expect(await store.holder()).toBeUndefined();
  });
});

describe('DirectoryStore', () => {
  it('makes its files readable by the owner only', async () => {
    const store = new DirectoryStore(join(directory, 'stack'));
    await store.write('state.json', '{}');
    await store.append('journal.jsonl', 'x');
    for (const name of ['state.json', 'journal.jsonl']) {
      expect((await stat(join(directory, 'stack', name))).mode & 0o777).toBe(0o600);
    }
  });

  it('takes over the lock of a process that is gone, but not one of another host', async () => {
    const store = new DirectoryStore(directory);
    const dead = owner('dead', { pid: 2 ** 22 + 1 });
    await writeFile(join(directory, 'lock'), JSON.stringify(dead));
    const lock = await store.lock(owner('next'));
    expect(lock.takenOverFrom).toEqual(dead);
    await lock.release();
    await writeFile(join(directory, 'lock'), JSON.stringify({ ...dead, host: 'elsewhere' }));
    await expect(store.lock(owner('other'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('lets exactly one of many runs take over a stale lock', async () => {
    await writeFile(join(directory, 'lock'), JSON.stringify(owner('dead', { pid: 2 ** 22 + 1 })));
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => new DirectoryStore(directory).lock(owner(`run-${index}`))),
    );
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
  });

  it('does not release a lock that it no longer holds', async () => {
    const store = new DirectoryStore(directory);
    const lock = await store.lock(owner('one'));
    await writeFile(join(directory, 'lock'), JSON.stringify(owner('two')));
    await lock.release();
    await expect(store.lock(owner('three'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('explains a directory that cannot be written', async () => {
    await writeFile(join(directory, 'file'), '');
    const store = new DirectoryStore(join(directory, 'file', 'below'));
    await expect(store.write('state.json', '{}')).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
  });
});
