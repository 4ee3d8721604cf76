/**
 * Shared stores for scenes. The store for S3 is the real one on a bucket in memory, on the clock of the scene: leases end,
 * requests take time, and from any request on the server can stop answering. Machines have outboxes of their own.
 */
import type { Clock } from '../../../../src/base/clock.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import type { VirtualClock } from '../../../../src/base/virtual-clock.ts';
import { MemoryStore } from '../../../../src/state/memory-store.ts';
import type { ProcessKnowledge } from '../../../../src/state/process-life.ts';
import { OutboxStore } from '../../../../src/state/shared/outbox.ts';
import { Retries } from '../../../../src/state/shared/retried.ts';
import type { Bucket, Condition, StoredObject } from '../../../../src/state/shared/s3-bucket.ts';
import { S3Store } from '../../../../src/state/shared/s3-store.ts';
import type { StateStore } from '../../../../src/state/store.ts';

/** What several processes of a scene have in common. */
export interface SharedStore {
  /** The store as a process of this machine has it; its waits end with the process. */
  open(clock: Clock, machine: string): StateStore;
  /** A process was killed: its own machine can tell. */
  bury(pid: number): void;
}

const LATENCY_MS = 4;
/** The machine of the test. */
export const TEST = 'test';

class Cut extends Error {}

export class MemoryBucket {
  readonly #clock: VirtualClock;
  readonly #objects = new Map<string, Omit<StoredObject, 'ageMs'> & { readonly writtenAt: number }>();
  #writes = 0;
  /** Requests so far. */
  requests = 0;
  /** From this request on nothing answers. */
  cutAt: number | undefined;
  /** The first request that is not answered takes effect. */
  losesAnswer = false;
  #isCut = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  restore(): void {
    this.cutAt = undefined;
    this.#isCut = false;
  }

  /** As a process has it. The test itself always gets an answer, and does not count. */
  view(clock: Clock, isTest: boolean): Bucket {
    const retries = new Retries({ clock, random: seededRandom('bucket'), shown: 's3://bucket/' });
    const request = <T>(work: () => T): Promise<T> =>
      retries.run(
        (error) => error instanceof Cut,
        async () => {
          if (isTest) return work();
          await clock.sleep(LATENCY_MS);
          const isFirst = ++this.requests === this.cutAt;
          this.#isCut ||= isFirst;
          if (isFirst && this.losesAnswer) work();
          if (this.#isCut) throw new Cut('cut');
          return work();
        },
      );
    return {
      get: (key) => request(() => this.#get(key)),
      put: (key, text, condition) => request(() => this.#put(key, text, condition)),
      delete: (key) => request(() => void this.#objects.delete(key)),
    };
  }

  #get(key: string): StoredObject | undefined {
    const object = this.#objects.get(key);
    return object && { ...object, ageMs: this.#clock.ticks() - object.writtenAt };
  }

  #put(key: string, text: string, condition: Condition): string | undefined {
    const now = this.#objects.get(key);
    // A repeated write finds its own text.
    if (now?.text === text) return now.etag;
    if (condition === 'absent' ? now !== undefined : now?.etag !== condition.ifMatch) return undefined;
    const etag = `"${++this.#writes}"`;
    this.#objects.set(key, { text, etag, writtenAt: this.#clock.ticks() });
    return etag;
  }
}

/** A store for S3 in memory, with the outboxes of its machines. */
export class MemoryS3 implements SharedStore {
  readonly bucket: MemoryBucket;
  readonly #outboxes = new Map<string, MemoryStore>();
  readonly #dead = new Set<number>();
  #views = 0;

  constructor(clock: VirtualClock) {
    this.bucket = new MemoryBucket(clock);
  }

  open(clock: Clock, machine: string): StateStore {
    const store = new S3Store({
      bucket: this.bucket.view(clock, machine === TEST),
      prefix: 'lab/',
      shown: 's3://bucket/lab/',
      clock,
      random: seededRandom(`view ${++this.#views}`),
      processes: knowledgeOf(machine, this.#dead),
    });
    return new OutboxStore(store, this.outboxOf(machine));
  }

  outboxOf(machine: string): MemoryStore {
    const outbox = this.#outboxes.get(machine) ?? new MemoryStore();
    this.#outboxes.set(machine, outbox);
    return outbox;
  }

  bury(pid: number): void {
    this.#dead.add(pid);
  }
}

/** A machine can tell of its own processes whether they live. */
export function knowledgeOf(machine: string, dead: ReadonlySet<number>): ProcessKnowledge {
  return {
    factsOf: async () => ({}),
    lifeOf: async ({ host, pid }) => ({ life: host === machine && dead.has(pid) ? 'dead' : 'unknown' }),
  };
}
