/**
 * Names of runs: their time, and a few digits against collisions. Journals are read in the order of their names, so a run
 * must have a name behind those of all runs before it, also when two begin within one second.
 */
import type { Instant } from '../base/clock.ts';
import { type Random, randomHex } from '../base/random.ts';
import { listRuns } from '../state/journal.ts';
import type { StateStore } from '../state/store.ts';

const DIGITS = 6;

export async function nextRunId(store: StateStore, now: Instant, random: Random): Promise<string> {
  const time = new Date(now)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  const wanted = `${time}-${randomHex(random.fork('run'), DIGITS)}`;
  const last = (await listRuns(store)).at(-1);
  return last === undefined || last < wanted ? wanted : successor(last);
}

/** The same time with the next number; where digits run out, one more of them. */
function successor(runId: string): string {
  const [, time = runId, digits = ''] = /^(.*)-([0-9a-f]+)$/.exec(runId) ?? [];
  const next = (Number.parseInt(digits || '0', 16) + 1).toString(16).padStart(digits.length, '0');
  return next.length > digits.length ? `${runId}0` : `${time}-${next}`;
}
