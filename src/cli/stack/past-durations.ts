/** How long the stages of earlier runs took: what the next run may expect. */
import { describeRun } from '../../engine/record/run-record.ts';
import { listRuns, readRun } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';
import { durationsOf, type KnownDurations } from '../views/run/timeline.ts';

const RUNS_LOOKED_AT = 5;

/** Only for display, so an unreadable journal is skipped. */
export async function pastDurations(store: StateStore): Promise<KnownDurations> {
  const runIds = (await listRuns(store)).slice(-RUNS_LOOKED_AT);
  const runs = await Promise.all(
    runIds.map(async (runId) => readRun(store, runId).catch(() => ({ runId, events: [] }))),
  );
  return durationsOf(runs.flatMap((run) => describeRun(run).steps));
}
