/**
 * What the journal and the state cost on each store: how often an apply writes, and how long it waits for that, as a ratio to the
 * local directory. The stores are the real ones on real servers of this machine, so the time has no network in it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { VirtualClock } from '../../src/base/virtual-clock.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import type { StateStore } from '../../src/state/store.ts';
import { HTTP, POSTGRES, S3 } from '../../tests/stores/stores.ts';
import type { Figure } from './engine.ts';
import { EngineScene } from './engine-scene.ts';

const VMS = 5;
/** In turn, so that all meet the same machine; the median counts. */
const TURNS = 3;

interface OpenStore {
  readonly store: StateStore;
  stop(): Promise<void>;
}

interface Contestant {
  readonly name: string;
  readonly missing: string | undefined;
  open(): Promise<OpenStore>;
}

const LOCAL: Contestant = {
  name: 'local directory',
  missing: undefined,
  open: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'proxwright-bench-store-'));
    return { store: new DirectoryStore(directory), stop: () => rm(directory, { recursive: true, force: true }) };
  },
};

const SHARED: readonly Contestant[] = [POSTGRES, S3, HTTP].map(({ name, missing, start }) => ({
  name,
  missing,
  open: async () => {
    const scene = await start();
    const store = await scene.open('bench');
    const stop = async () => {
      await store.close?.();
      await scene.stop();
    };
    return { store, stop };
  },
}));

interface Spent {
  writes: number;
  ms: number;
}

export async function benchStores(): Promise<readonly Figure[]> {
  const contestants = [LOCAL, ...SHARED];
  const spent = new Map<Contestant, Spent[]>();
  for (let turn = 0; turn < TURNS; turn++) {
    for (const contestant of contestants) {
      if (contestant.missing !== undefined) continue;
      spent.set(contestant, [...(spent.get(contestant) ?? []), await applyOn(contestant)]);
    }
  }
  const localMs = median(spent.get(LOCAL) ?? []).ms;
  return contestants.map((contestant) => {
    const all = spent.get(contestant);
    return {
      figure: `writes of an apply of ${VMS} VMs: ${contestant.name}`,
      measured: all ? compared(median(all), localMs) : `skipped: ${contestant.missing}`,
      aim: 'printed, not judged',
      isMet: true,
    };
  });
}

function compared({ writes, ms }: Spent, localMs: number): string {
  return `${writes} writes; ${ms.toFixed(0)} ms = ${(ms / localMs).toFixed(1)} × the local directory`;
}

function median(all: readonly Spent[]): Spent {
  return [...all].sort((a, b) => a.ms - b.ms)[Math.floor(all.length / 2)] ?? { writes: 0, ms: 0 };
}

async function applyOn({ open }: Contestant): Promise<Spent> {
  const { store, stop } = await open();
  try {
    const spent: Spent = { writes: 0, ms: 0 };
    await new EngineScene({ vms: VMS }, (clock) => metered(store, clock, spent)).apply();
    return spent;
  } finally {
    await stop();
  }
}

/** Virtual time stands still while a real server is asked. */
function metered(store: StateStore, clock: VirtualClock, spent: Spent): StateStore {
  const timed = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now();
    try {
      return await clock.outside(work);
    } finally {
      spent.ms += performance.now() - startedAt;
    }
  };
  const writing = <Result>(work: () => Promise<Result>): Promise<Result> => {
    spent.writes++;
    return timed(work);
  };
  return {
    read: (name) => timed(() => store.read(name)),
    write: (name, text) => writing(() => store.write(name, text)),
    append: (name, line) => writing(() => store.append(name, line)),
    remove: (name) => writing(() => store.remove(name)),
    list: (prefix) => timed(() => store.list(prefix)),
    placeOf: (name) => store.placeOf(name),
    holder: () => timed(() => store.holder()),
    unlock: (options) => timed(() => store.unlock(options)),
    outbox: store.outbox,
    ...(store.journalsAreLocal && { journalsAreLocal: store.journalsAreLocal }),
    lock: async (owner) => {
      const lock = await timed(() => store.lock(owner));
      return { ...lock, release: () => timed(() => lock.release()) };
    },
  };
}
