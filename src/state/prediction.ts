/** The prediction of the last rehearsal, kept next to the state so that a later report can compare it with the run. */
import { z } from 'zod';
import { eventSchema } from './events.ts';
import type { RunJournal } from './journal.ts';
import type { StateStore } from './store.ts';

const NAME = 'rehearsals/last.json';

const predictionSchema = z.object({
  format: z.literal(1),
  madeAt: z.string(),
  runId: z.string(),
  /** From the first step to the last, in milliseconds. */
  fastestMs: z.number(),
  slowestMs: z.number(),
  events: z.array(eventSchema),
});

export interface Prediction extends RunJournal {
  /** ISO 8601. */
  readonly madeAt: string;
  readonly fastestMs: number;
  readonly slowestMs: number;
}

export async function writePrediction(store: StateStore, prediction: Prediction): Promise<void> {
  await store.write(NAME, `${JSON.stringify({ format: 1, ...prediction })}\n`);
}

/** Undefined if there is none, or none that this version reads: a prediction is only for display. */
export async function readPrediction(store: StateStore): Promise<Prediction | undefined> {
  const text = await store.read(NAME);
  if (text === undefined) return undefined;
  try {
    const { format: _format, ...prediction } = predictionSchema.parse(JSON.parse(text));
    return prediction;
  } catch {
    return undefined;
  }
}
