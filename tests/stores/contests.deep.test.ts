/**
 * Contests for one lock, on every shared store: never do two runs change the cluster in overlapping epochs, no acknowledged event
 * is lost, and no state is older than one that was saved. A few contests by default; PROXWRIGHT_CONTESTS=1000 for more of
 * each store, PROXWRIGHT_CONTEST_SEED to begin at another seed.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Arena, openArena } from './contest/arena.ts';
import { contest, prepare, wokenTooLate } from './contest/contest.ts';
import { HTTP, POSTGRES, S3, type StoreKind, saySkipped } from './stores.ts';

const CONTESTS = Number(process.env['PROXWRIGHT_CONTESTS'] ?? 4);
/** Only for a contest that hangs. */
const HANG_MS = 1_200_000 + CONTESTS * 60_000;
const FIRST_SEED = Number(process.env['PROXWRIGHT_CONTEST_SEED'] ?? 1);

const KINDS = [POSTGRES, S3, HTTP].filter((kind) => {
  if (kind.missing !== undefined) saySkipped(`contests for the lock in ${kind.name}`, kind.missing);
  return kind.missing === undefined;
});

describe('the lock of a state', () => {
  const arenas = new Map<StoreKind, Arena>();
  const arenaOf = (kind: StoreKind): Arena => {
    const arena = arenas.get(kind);
    if (!arena) throw new Error(`There is no arena for ${kind.name}.`);
    return arena;
  };
  beforeAll(async () => {
    for (const kind of KINDS) {
      const arena = await openArena(kind);
      arenas.set(kind, arena);
      await prepare(arena);
    }
  });
  afterAll(async () => {
    for (const arena of arenas.values()) await arena.close();
  });

  // Side by side: most of a contest is waiting for a lease that ends.
  it.concurrent.each(KINDS)(
    `is held by one run at a time in ${CONTESTS} contests in $name`,
    async (kind) => {
      const complaints: string[] = [];
      const sums = { contestants: 0, runs: 0, changes: 0, events: 0 };
      const mix: Record<string, number> = {};
      const count = (what: string) => {
        mix[what] = (mix[what] ?? 0) + 1;
      };
      for (let seed = FIRST_SEED; seed < FIRST_SEED + CONTESTS; seed++) {
        const end = await contest(arenaOf(kind), seed);
        complaints.push(...end.complaints);
        for (const key of ['contestants', 'runs', 'changes', 'events'] as const) sums[key] += end[key];
        for (const trouble of end.troubles) count(trouble.isLong ? 'long stop' : trouble.kind);
        for (const code of end.ends) count(`ended ${code}`);
        if (seed % 25 === 0) process.stdout.write(`${kind.name}: seed ${seed}, ${complaints.length} complaints\n`);
      }
      process.stdout.write(`${kind.name}: ${CONTESTS} contests, ${JSON.stringify({ ...sums, ...mix })}\n`);
      expect(complaints).toEqual([]);
      // Contests in which nothing happens would prove nothing.
      expect(sums.changes).toBeGreaterThan(CONTESTS);
      expect(sums.runs).toBeGreaterThan(CONTESTS);
    },
    HANG_MS,
  );

  // A lock without a lease is not taken from a run that sleeps.
  const LEASED = KINDS.filter((kind) => kind !== HTTP);

  it.each(LEASED)('stops a run that slept between recording a change and sending it, in $name', async (kind) => {
    const { complaints, end } = await wokenTooLate(arenaOf(kind), 1_000_001, false);
    expect(complaints).toEqual([]);
    expect(end).not.toBe('done');
  });

  it.each(LEASED)('would be found in the log of the simulator if a run ignored it, in $name', async (kind) => {
    const found: string[] = [];
    // A client that slept for long may find its connection closed, and give up for that reason.
    for (let attempt = 1; attempt <= 5 && found.length === 0; attempt++) {
      found.push(...(await wokenTooLate(arenaOf(kind), 1_001_000 * attempt, true)).complaints);
    }
    expect(found).toEqual([expect.stringMatching(/of epoch \d+ came after one of epoch \d+/)]);
  });
});
