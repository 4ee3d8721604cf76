/**
 * The real stores on real servers, for scenes on virtual time: the clock stands still while a server is asked. Leases do not end by
 * themselves here; that a process is dead, its machine sees.
 */
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { seededRandom, systemRandom } from '../../src/base/random.ts';
import type { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import { HttpStore } from '../../src/state/shared/http-store.ts';
import { OutboxStore } from '../../src/state/shared/outbox.ts';
import { PostgresStore } from '../../src/state/shared/postgres-store.ts';
import { S3Bucket } from '../../src/state/shared/s3-bucket.ts';
import { S3Store } from '../../src/state/shared/s3-store.ts';
import type { StateStore } from '../../src/state/store.ts';
import { knowledgeOf, type SharedStore } from '../simulation/engine/support/shared-stores.ts';
import { startHttpStateServer } from '../support/http-state-server.ts';
import { postgresDirectory, S3_BUCKET, S3_KEYS, s3Binary, startPostgres, startS3 } from '../support/store-servers.ts';
import { HTTP, POSTGRES, S3 } from './stores.ts';

export interface RealStore {
  /** A new, empty store for a scene. */
  shared(clock: VirtualClock): SharedStore;
  stop(): Promise<void>;
}

export interface RealKind {
  readonly name: string;
  readonly missing: string | undefined;
  start(): Promise<RealStore>;
}

/** Longer than any scene. */
const LEASE_MS = 10 * 365 * 24 * 3_600_000;

interface ViewDeps {
  readonly clock: Clock;
  readonly random: typeof systemRandom;
  readonly processes: ReturnType<typeof knowledgeOf>;
  readonly ttlMs: number;
  readonly local: MemoryStore;
}

/** `open` makes a view for the scene with this number. */
function sharedBy(clock: VirtualClock, open: (deps: ViewDeps) => StateStore, onDeath = () => {}): SharedStore {
  const dead = new Set<number>();
  const locals = new Map<string, MemoryStore>();
  return {
    open: (processClock, machine) => {
      const local = locals.get(machine) ?? new MemoryStore();
      locals.set(machine, local);
      const processes = knowledgeOf(machine, dead);
      const own = withRealWaits(processClock);
      return still(clock, open({ clock: own, random: systemRandom, processes, ttlMs: LEASE_MS, local }));
    },
    bury: (pid) => {
      dead.add(pid);
      onDeath();
    },
  };
}

/**
 * A store that waits, because its server was slow to answer, waits in real time: the virtual clock stands still during its
 * calls, and such a wait would never end.
 */
function withRealWaits(clock: Clock): Clock {
  return { now: () => clock.now(), ticks: () => clock.ticks(), sleep: (ms, signal) => systemClock.sleep(ms, signal) };
}

/** The store with the clock standing still during each call. */
function still(clock: VirtualClock, store: StateStore): StateStore {
  return {
    read: (name) => clock.outside(() => store.read(name)),
    write: (name, text) => clock.outside(() => store.write(name, text)),
    append: (name, line) => clock.outside(() => store.append(name, line)),
    remove: (name) => clock.outside(() => store.remove(name)),
    list: (prefix) => clock.outside(() => store.list(prefix)),
    placeOf: (name) => store.placeOf(name),
    holder: () => clock.outside(() => store.holder()),
    unlock: (options) => clock.outside(() => store.unlock(options)),
    outbox: store.outbox,
    lock: async (owner) => {
      const lock = await clock.outside(() => store.lock(owner));
      return { ...lock, release: () => clock.outside(() => lock.release()) };
    },
  };
}

const POSTGRES_SCENES: RealKind = {
  ...POSTGRES,
  start: async () => {
    const server = await startPostgres(postgresDirectory() ?? '');
    let scenes = 0;
    const stores: PostgresStore[] = [];
    return {
      shared: (clock) => {
        const store = `scene-${++scenes}`;
        const connection = { host: '127.0.0.1', port: server.port, user: 'proxwright', database: 'postgres', max: 2 };
        return sharedBy(clock, ({ local, ...deps }) => {
          const view = new PostgresStore({ ...deps, connection, store, shown: 'postgres://lab' });
          stores.push(view);
          // The views of runs that have ended are not used again.
          if (stores.length > 4) void stores.shift()?.close();
          return new OutboxStore(view, local);
        });
      },
      stop: async () => {
        await Promise.all(stores.map((store) => store.close()));
        await server.stop();
      },
    };
  },
};

const S3_SCENES: RealKind = {
  ...S3,
  start: async () => {
    const server = await startS3(s3Binary() ?? '');
    const keys = { accessKeyId: S3_KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: S3_KEYS.AWS_SECRET_ACCESS_KEY };
    let scenes = 0;
    return {
      shared: (clock) => {
        const prefix = `scene-${++scenes}/`;
        const shown = `s3://${S3_BUCKET}/${prefix}`;
        const random = seededRandom(prefix);
        return sharedBy(clock, ({ local, ...deps }) => {
          const bucket = new S3Bucket({
            clock: deps.clock,
            random,
            shown,
            bucket: S3_BUCKET,
            region: 'us-east-1',
            endpoint: `http://127.0.0.1:${server.port}`,
            credentials: { get: async () => keys, renew: () => {} },
          });
          return new OutboxStore(new S3Store({ ...deps, bucket, prefix, shown }), local);
        });
      },
      stop: () => server.stop(),
    };
  },
};

/** Its lock has no end: an administrator removes that of a dead run. */
const HTTP_SCENES: RealKind = {
  ...HTTP,
  start: async () => {
    const server = await startHttpStateServer();
    return {
      shared: (clock) => {
        server.clear();
        const { address } = server;
        return sharedBy(
          clock,
          ({ clock: own, random, local }) =>
            new HttpStore({ clock: own, random, local, address, shown: address, stackName: 'lab' }),
          () => server.dropLock(),
        );
      },
      stop: () => server.stop(),
    };
  },
};

export const REAL_STORES: readonly RealKind[] = [POSTGRES_SCENES, S3_SCENES, HTTP_SCENES];
