/**
 * What a resource waited for between its steps: other resources that had to be done first, the members of its group that
 * were unavailable, the pause after them, or its turn. Pure.
 */
import { groupedBy } from '../../base/values/groups.ts';
import { printDuration } from '../../base/values/units.ts';
import type { ResourceRecord, RunRecord, StepRecord } from '../../engine/record/run-record.ts';
import { labelOf } from '../../kinds/registry.ts';

export interface Wait {
  readonly kind: 'turn';
  readonly label: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly words: string;
}

export interface WaitContext {
  readonly since: (at: string) => number;
  readonly spanMs: number;
  /** When each resource ended; absent for one that has not. */
  readonly ends: ReadonlyMap<string, number>;
  readonly groups: ReadonlyMap<string, readonly ResourceRecord[]>;
}

export function waitContext({ resources }: RunRecord, since: (at: string) => number, spanMs: number): WaitContext {
  const ended = resources.flatMap(({ address, endedAt }) =>
    endedAt === undefined ? [] : [[address, since(endedAt)] as const],
  );
  const members = resources.filter(({ roll }) => roll !== undefined);
  return { since, spanMs, ends: new Map(ended), groups: groupedBy(members, ({ roll }) => roll?.group ?? '') };
}

/** Shorter gaps are the time that the engine takes between two steps. */
const SHORTEST_MS = 250;

/** A stretch of time without a step of its own, and the step that ended it; there is none yet if the resource still waits. */
interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly next?: StepRecord;
}

/** The gap before each of its steps, and the one that lasts; for a resource that never started, the whole time. */
export function waitsBefore(resource: ResourceRecord, context: WaitContext): Wait[] {
  const { since, spanMs } = context;
  const { steps, status } = resource;
  if (steps.length === 0) return status === 'waiting' ? waitsIn(resource, { fromMs: 0, toMs: spanMs }, context) : [];
  let freeSince = 0;
  const before = steps.flatMap((next, index) => {
    const gap = { fromMs: freeSince, toMs: since(next.startedAt), next };
    freeSince = next.endedAt === undefined ? spanMs : since(next.endedAt);
    if (gap.toMs - gap.fromMs < SHORTEST_MS) return [];
    return index === 0 ? waitsIn(resource, gap, context) : [turn(resource, gap)];
  });
  const isBetween = status === 'working' && spanMs - freeSince >= SHORTEST_MS;
  return isBetween ? [...before, turn(resource, { fromMs: freeSince, toMs: spanMs })] : before;
}

/** Before its first step: first the resources that it needs, then the other members of its group, then its turn. */
function waitsIn(resource: ResourceRecord, gap: Gap, context: WaitContext): Wait[] {
  const waits: Wait[] = [];
  let fromMs = gap.fromMs;
  const until = (endMs: number, label: string, why = '') => {
    const toMs = Math.min(gap.toMs, endMs);
    if (toMs - fromMs >= SHORTEST_MS) waits.push(wait(resource, { ...gap, fromMs, toMs }, label, why));
    fromMs = Math.max(fromMs, toMs);
  };
  const needed = latest(resource.after, context, Number.POSITIVE_INFINITY);
  if (needed) until(needed.endMs, needed.address);
  const { roll } = resource;
  if (roll) {
    const ahead = membersAhead(resource, context);
    const member = latest(ahead, context, gap.next ? gap.toMs : Number.POSITIVE_INFINITY);
    if (member) {
      until(
        member.endMs,
        member.address,
        `\nMembers of ${roll.group} become unavailable in turn (update.max_unavailable).`,
      );
      if (roll.pauseMs > 0) {
        const pause = printDuration(roll.pauseMs);
        until(
          member.endMs + roll.pauseMs + SHORTEST_MS,
          'the pause',
          `\nThe file sets a pause of ${pause} after each member of ${roll.group} (update.pause).`,
        );
      }
    }
  }
  if (gap.toMs - fromMs >= SHORTEST_MS) waits.push(turn(resource, { ...gap, fromMs }));
  return waits;
}

/** The one that ended last, at that moment at the latest. One that has not ended is still waited for. */
function latest(addresses: readonly string[], { ends }: WaitContext, byMs: number) {
  return addresses
    .map((address) => ({ address, endMs: ends.get(address) ?? Number.POSITIVE_INFINITY }))
    .filter(({ endMs }) => endMs <= byMs)
    .toSorted((a, b) => b.endMs - a.endMs)[0];
}

/** Members that have been taken down before it: while it waits, all that have started. */
function membersAhead({ address, roll }: ResourceRecord, { groups }: WaitContext): string[] {
  const members = groups.get(roll?.group ?? '') ?? [];
  return members.filter((other) => other.address !== address && other.steps.length > 0).map((other) => other.address);
}

function turn(resource: ResourceRecord, gap: Gap): Wait {
  const isReadiness = gap.next !== undefined && labelOf(gap.next.action) === 'ready';
  const why = isReadiness
    ? '\nThe run waits for guests one after the other (rollout.readiness).'
    : '\nThe plan allowed it; the limits on concurrent work (rollout.limits) did not yet.';
  return wait(resource, gap, 'its turn', why);
}

function wait({ address }: ResourceRecord, { fromMs, toMs, next }: Gap, label: string, why: string): Wait {
  // The duration of a wait that lasts would be another one at each look, though nothing has happened.
  const words = next ? `waited ${printDuration(toMs - fromMs)} for ${label}` : `waits for ${label}`;
  return { kind: 'turn', label, fromMs, toMs, words: `${address}: ${words}${why}` };
}
