/**
 * The critical path of a run: the chain of steps that decided when it ended. It is traced backwards from the step that
 * ended last. A step follows the previous step of its resource, or a resource that it had to wait for. If a longer gap
 * remains, it waited for its turn: then it follows the step that ended right before its start. Pure.
 */
import { groupedBy } from '../../base/values/groups.ts';
import { nameOfStep } from '../../engine/record/run-moments.ts';
import type { RunRecord, StepRecord } from '../../engine/record/run-record.ts';

export interface PathStep {
  /** The id of the step. */
  readonly step: string;
  readonly address: string;
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Why it started when it did. */
  readonly follows: 'start' | 'step' | 'resource' | 'turn';
}

interface Timed {
  readonly step: StepRecord;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A gap up to this long is the time between two steps. */
const NEAR_MS = 1_000;

export function criticalPath(run: RunRecord, since: (at: string) => number, spanMs: number): PathStep[] {
  const all = run.steps.map((step): Timed => {
    const toMs = step.endedAt === undefined ? spanMs : since(step.endedAt);
    return { step, fromMs: since(step.startedAt), toMs };
  });
  const byEnd = all.toSorted((a, b) => a.toMs - b.toMs);
  const byAddress = groupedBy(byEnd, ({ step }) => step.address);
  const after = new Map(run.resources.map((resource) => [resource.address, resource.after]));
  const path: PathStep[] = [];
  const seen = new Set<string>();
  let current = byEnd.at(-1);
  while (current && !seen.has(current.step.step)) {
    const { step, fromMs, toMs } = current;
    seen.add(step.step);
    const isFree = ({ step: other }: Timed) => !seen.has(other.step);
    const lastBefore = (some: readonly Timed[]) => some.findLast((each) => each.toMs <= fromMs && isFree(each));
    const own = lastBefore(byAddress.get(step.address) ?? []);
    const needed = (after.get(step.address) ?? []).flatMap((other) => lastBefore(byAddress.get(other) ?? []) ?? []);
    const resource = needed.toSorted((a, b) => b.toMs - a.toMs)[0];
    const isResource = resource !== undefined && resource.toMs > (own?.toMs ?? -1);
    const known = isResource ? resource : own;
    const turn = fromMs - (known?.toMs ?? 0) > NEAR_MS ? lastBefore(byEnd) : undefined;
    const isTurn = turn !== undefined && turn.toMs > (known?.toMs ?? -1) && fromMs - turn.toMs <= NEAR_MS;
    const before: Timed | undefined = isTurn ? turn : known;
    const follows = !before ? 'start' : isTurn ? 'turn' : isResource ? 'resource' : 'step';
    path.unshift({ step: step.step, address: step.address, name: nameOfStep(step), fromMs, toMs, follows });
    current = before;
  }
  return path;
}
