/**
 * The critical path of a run: the chain of steps that decided when it ended. It is traced backwards from the step that
 * ended last. A step follows the previous step of its resource, a resource that it had to wait for, or the member of its
 * group that was unavailable before it. If a longer gap remains, it waited for its turn: then it follows the step that ended
 * right before its start. Pure.
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
  readonly follows: 'start' | 'step' | 'resource' | 'roll' | 'turn';
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
  const resources = new Map(run.resources.map((resource) => [resource.address, resource]));
  const groups = groupedBy(run.resources, ({ roll }) => roll?.group ?? '');
  const path: PathStep[] = [];
  const seen = new Set<string>();
  let current = byEnd.at(-1);
  while (current && !seen.has(current.step.step)) {
    const { step, fromMs, toMs } = current;
    seen.add(step.step);
    const isFree = ({ step: other }: Timed) => !seen.has(other.step);
    const lastBefore = (some: readonly Timed[]) => some.findLast((each) => each.toMs <= fromMs && isFree(each));
    const lastOf = (addresses: readonly string[]) => {
      const ends = addresses.flatMap((other) => lastBefore(byAddress.get(other) ?? []) ?? []);
      return ends.toSorted((a, b) => b.toMs - a.toMs)[0];
    };
    const { after = [], roll } = resources.get(step.address) ?? {};
    const own = lastOf([step.address]);
    // Only its first step waits for other members of the group.
    const members = own || !roll ? [] : (groups.get(roll.group) ?? []).map(({ address }) => address);
    const causes = [
      { follows: 'step' as const, timed: own, pauseMs: 0 },
      { follows: 'resource' as const, timed: lastOf(after), pauseMs: 0 },
      { follows: 'roll' as const, timed: lastOf(members), pauseMs: roll?.pauseMs ?? 0 },
    ];
    // Of equal ends the first counts.
    const known = causes.reduce((a, b) => ((b.timed?.toMs ?? -1) > (a.timed?.toMs ?? -1) ? b : a));
    const knownMs = (known.timed?.toMs ?? 0) + known.pauseMs;
    const turn = fromMs - knownMs > NEAR_MS ? lastBefore(byEnd) : undefined;
    const isTurn = turn !== undefined && turn.toMs > (known.timed?.toMs ?? -1) && fromMs - turn.toMs <= NEAR_MS;
    const before = isTurn ? turn : known.timed;
    const follows = !before ? 'start' : isTurn ? 'turn' : known.follows;
    path.unshift({ step: step.step, address: step.address, name: nameOfStep(step), fromMs, toMs, follows });
    current = before;
  }
  return path;
}
