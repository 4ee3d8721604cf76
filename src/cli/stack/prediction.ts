/** What the last rehearsal expected of a run. */
import { describeRun, type RunRecord } from '../../engine/record/run-record.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import { readPrediction } from '../../state/prediction.ts';

/** Undefined unless it was made before the run and is about the same resources. */
export async function predictionOf(run: RunRecord, stateDirectory: string): Promise<RunRecord | undefined> {
  const last = await readPrediction(new DirectoryStore(stateDirectory));
  if (!last || run.startedAt === undefined || last.madeAt > run.startedAt) return undefined;
  const predicted = describeRun(last);
  const addresses = ({ resources }: RunRecord) => resources.map(({ address }) => address).join();
  return addresses(predicted) === addresses(run) ? predicted : undefined;
}
