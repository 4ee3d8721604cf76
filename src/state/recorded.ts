/** Everything recorded about a stack: its state file, plus the journals of unfinished runs. */

import { type Random, randomUuid } from '../base/random.ts';
import type { StackState } from '../kinds/recorded.ts';
import { foldEvents } from './events.ts';
import { type RunJournal, unfinishedRuns } from './journal.ts';
import { readState } from './state-file.ts';
import type { StateStore } from './store.ts';

export interface Recorded {
  readonly state: StackState;
  /** They died, or one of them is still active. */
  readonly unfinished: readonly RunJournal[];
}

export async function readRecorded(store: StateStore, stackName: string): Promise<Recorded> {
  const written = await readState(store, stackName);
  const unfinished = await unfinishedRuns(store);
  return { state: unfinished.reduce((known, { events }) => foldEvents(known, events), written), unfinished };
}

/** A state gets its lineage with its first write, and keeps it. */
export function withLineage(state: StackState, random: Random): StackState {
  return state.lineage === undefined ? { ...state, lineage: randomUuid(random.fork('lineage')) } : state;
}
