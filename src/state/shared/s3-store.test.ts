/** The store on a bucket in memory; on a real server it is in tests/stores. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { keepsTheContract, owner } from '../testing/conformance.ts';
import type { Bucket, Condition, StoredObject } from './s3-bucket.ts';
import { S3Store } from './s3-store.ts';

class MemoryBucket implements Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly reads: string[] = [];
  /** Called before a read is answered. */
  beforeRead: ((key: string) => Promise<void>) | undefined;
  ignoresConditions = false;
  /** Deletions at the same time. */
  mostDeletions = 0;
  #deletions = 0;
  #writes = 0;

  async get(key: string): Promise<StoredObject | undefined> {
    this.reads.push(key);
    await this.beforeRead?.(key);
    return this.objects.get(key);
  }

  async put(key: string, text: string, condition: Condition): Promise<string | undefined> {
    const now = this.objects.get(key);
    const isMet = condition === 'absent' ? now === undefined : now?.etag === condition.ifMatch;
    if (!isMet && !this.ignoresConditions) return undefined;
    const etag = `"${++this.#writes}"`;
    this.objects.set(key, { text, etag, ageMs: 0 });
    return etag;
  }

  async delete(key: string): Promise<void> {
    this.mostDeletions = Math.max(this.mostDeletions, ++this.#deletions);
    await Promise.resolve();
    this.#deletions--;
    this.objects.delete(key);
  }
}

let stores = 0;
function storeOn(bucket: Bucket): S3Store {
  const random = seededRandom(`store ${++stores}`);
  return new S3Store({ bucket, prefix: 'lab/', shown: 's3://bucket/lab/', random, clock: new VirtualClock() });
}

describe('a store in a bucket', () => {
  let last = new MemoryBucket();
  const create = () => {
    last = new MemoryBucket();
    return storeOn(last);
  };
  keepsTheContract({ create, another: () => storeOn(last) });

  it('refuses a server that ignores conditions, before it writes anything else', async () => {
    const bucket = new MemoryBucket();
    bucket.ignoresConditions = true;
    await expect(storeOn(bucket).lock(owner('one'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
    expect([...bucket.objects.keys()]).toEqual([]);
  });

  it('says that an object is lost instead of looking for it forever', async () => {
    const bucket = new MemoryBucket();
    const store = storeOn(bucket);
    await store.write('state.json', '{}');
    for (const key of bucket.objects.keys()) if (key.startsWith('lab/objects/')) bucket.objects.delete(key);
    await expect(store.read('state.json')).rejects.toMatchObject({ code: 'STATE_DAMAGED' });
  });

  it('shows a log whole while its run ends and its lines become a document', async () => {
    const bucket = new MemoryBucket();
    const writer = storeOn(bucket);
    const lock = await writer.lock(owner('one'));
    for (const line of ['first', 'second', 'third']) await writer.append('runs/1.jsonl', line);
    // Between the index and the lines.
    bucket.beforeRead = async (key) => {
      if (!key.includes('chains/')) return;
      bucket.beforeRead = undefined;
      await lock.release();
    };
    expect(await storeOn(bucket).read('runs/1.jsonl')).toBe('first\nsecond\nthird\n');
    expect(bucket.beforeRead).toBeUndefined();
  });

  it('ends a long log with few requests at once, and without reading its own lines again', async () => {
    const bucket = new MemoryBucket();
    const store = storeOn(bucket);
    const lock = await store.lock(owner('one'));
    for (let line = 0; line < 500; line++) await store.append('runs/1.jsonl', String(line));
    bucket.reads.length = 0;
    await lock.release();
    expect(bucket.reads.length).toBeLessThan(20);
    expect(bucket.mostDeletions).toBeLessThanOrEqual(16);
    expect([...bucket.objects.keys()].filter((key) => key.includes('chains/'))).toHaveLength(1);
    expect((await store.read('runs/1.jsonl'))?.split('\n')).toHaveLength(501);
  });
});
