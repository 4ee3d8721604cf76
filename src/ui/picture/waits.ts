/** What a resource waited for between its steps: other resources that had to be done first, or its turn. Pure. */
import { printDuration } from '../../base/values/units.ts';
import type { ResourceRecord, RunRecord } from '../../engine/record/run-record.ts';

export interface Wait {
  readonly kind: 'turn';
  readonly label: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly words: string;
}

export interface WaitContext {
  readonly run: RunRecord;
  readonly since: (at: string) => number;
  readonly spanMs: number;
}

/** Shorter gaps are the time that the engine takes between two steps. */
const SHORTEST_MS = 250;

/** The gap before each of its steps; for a resource that never started, the whole time. */
export function waitsBefore(resource: ResourceRecord, context: WaitContext): Wait[] {
  const { since, spanMs } = context;
  const { steps, status } = resource;
  if (steps.length === 0) return status === 'waiting' ? [waitOf(resource, 0, spanMs, context)] : [];
  let freeSince = 0;
  return steps.flatMap(({ startedAt, endedAt }) => {
    const [fromMs, toMs] = [freeSince, since(startedAt)];
    freeSince = endedAt === undefined ? spanMs : since(endedAt);
    return toMs - fromMs < SHORTEST_MS ? [] : [waitOf(resource, fromMs, toMs, context)];
  });
}

/** The resource it waited for longest, if the plan named one that ended in that time; otherwise the run was at its limits. */
function waitOf(
  { address, after, steps }: ResourceRecord,
  fromMs: number,
  toMs: number,
  { run, since }: WaitContext,
): Wait {
  const ended = run.resources.flatMap((other) => {
    const endMs = other.endedAt === undefined ? Number.POSITIVE_INFINITY : since(other.endedAt);
    return after.includes(other.address) && endMs > fromMs ? [{ address: other.address, endMs }] : [];
  });
  const last = ended.toSorted((a, b) => b.endMs - a.endMs)[0];
  const what = last?.address ?? 'its turn';
  const why = last ? '' : '\nThe plan allowed it; the limits on concurrent work (rollout.limits) did not yet.';
  // The duration of a wait that lasts would be another one at each look, though nothing has happened.
  const words = steps.length === 0 ? `waits for ${what}` : `waited ${printDuration(toMs - fromMs)} for ${what}`;
  return {
    kind: 'turn',
    label: what,
    fromMs,
    toMs,
    words: `${address}: ${words}${why}`,
  };
}
