/** A recorded run as people see it: one whose process is gone counts as interrupted, although its journal has no end. */
import { describeDeadRun, describeRun, type RunRecord } from '../../engine/record/run-record.ts';
import type { RunJournal } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';

export async function recordOf(store: Pick<StateStore, 'holder'>, journal: RunJournal): Promise<RunRecord> {
  const record = describeRun(journal);
  if (record.outcome !== 'unfinished') return record;
  const holder = await store.holder();
  const isDead = holder?.owner.runId !== record.runId || holder.life === 'dead';
  return isDead ? describeDeadRun(journal) : record;
}
