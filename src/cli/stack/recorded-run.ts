/** A recorded run: which one a user names, how it ended, and what the last rehearsal expected of it. */
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { closest } from '../../base/text/closest.ts';
import { describeDeadRun, describeRun, type RunRecord } from '../../engine/record/run-record.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import { listRuns, type RunJournal } from '../../state/journal.ts';
import { readPrediction } from '../../state/prediction.ts';
import type { StateStore } from '../../state/store.ts';

/** `last`, an id, or the beginning or end of exactly one id. */
export async function findRun(store: StateStore, text: string): Promise<string> {
  const ids = await listRuns(store);
  const last = ids.at(-1);
  if (text === 'last' && last !== undefined) return last;
  const matching = ids.filter((id) => id === text || id.startsWith(text) || id.endsWith(text));
  const [only] = matching;
  if (only !== undefined && (matching.length === 1 || ids.includes(text))) return ids.includes(text) ? text : only;
  const guess = closest(text, ids);
  if (last === undefined) {
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      detail: 'There is no run yet.',
      hint: advice`To start the first one: ${command('apply')}`,
    });
  }
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: matching.length > 1 ? `"${text}" matches ${matching.length} runs.` : `There is no run "${text}".`,
    hint: guess ? `Did you mean ${guess}?` : advice`To list the runs: ${command('runs')}`,
  });
}

/** The run as people see it: one whose process is gone counts as interrupted, although its journal has no end. */
export async function recordOf(store: Pick<StateStore, 'holder'>, journal: RunJournal): Promise<RunRecord> {
  const record = describeRun(journal);
  if (record.outcome !== 'unfinished') return record;
  const holder = await store.holder();
  const isDead = holder?.owner.runId !== record.runId || holder.life === 'dead';
  return isDead ? describeDeadRun(journal) : record;
}

/** The last rehearsal, unless it was made after the run or is about other resources. */
export async function predictionOf(run: RunRecord, stateDirectory: string): Promise<RunRecord | undefined> {
  const last = await readPrediction(new DirectoryStore(stateDirectory));
  if (!last || run.startedAt === undefined || last.madeAt > run.startedAt) return undefined;
  const predicted = describeRun(last);
  const addresses = ({ resources }: RunRecord) => resources.map(({ address }) => address).join();
  return addresses(predicted) === addresses(run) ? predicted : undefined;
}
