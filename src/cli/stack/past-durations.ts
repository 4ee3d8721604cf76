/** How long the stages of earlier runs took: what the next run may expect. */
import { listRuns, readRun } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';
import { type KnownDurations, type StageName, stageOf } from '../views/timeline.ts';

const RUNS_LOOKED_AT = 5;

/** Only for display, so a journal that cannot be read is passed over. */
export async function pastDurations(store: StateStore): Promise<KnownDurations> {
  const durations = new Map<StageName, number[]>();
  const runIds = (await listRuns(store)).slice(-RUNS_LOOKED_AT);
  for (const runId of runIds) {
    const { events } = await readRun(store, runId).catch(() => ({ events: [] }));
    const begun = new Map<string, { readonly action: string; readonly at: number }>();
    for (const event of events) {
      // An act may be announced twice: as a step, then with its intent. The first counts.
      if (event.event === 'stepStarted' && !begun.has(event.step)) {
        begun.set(event.step, { action: event.action, at: Date.parse(event.at) });
      }
      const start = event.event === 'stepDone' ? begun.get(event.step) : undefined;
      if (!start) continue;
      const stage = stageOf(start.action);
      durations.set(stage, [...(durations.get(stage) ?? []), Date.parse(event.at) - start.at]);
    }
  }
  return durations;
}
