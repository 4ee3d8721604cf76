/**
 * The timeline of a run as data: a row for each resource with its bars and marks, the critical path, and the rate of
 * requests. Times are milliseconds since the start of the run. The picture, its tables and the page are drawn from it. Pure.
 */
import { groupedBy } from '../../base/values/groups.ts';
import { printDuration, upTo } from '../../base/values/units.ts';
import { nameOfStep } from '../../engine/record/run-moments.ts';
import type { NoteRecord, ResourceRecord, RunOutcome, RunRecord, StepRecord } from '../../engine/record/run-record.ts';
import { labelOf } from '../../kinds/registry.ts';
import { criticalPath, type PathStep } from './critical-path.ts';
import { type WaitContext, waitContext, waitsBefore } from './waits.ts';

/** What a bar shows: work by its stage, or a wait. */
export type BarKind = 'make' | 'configure' | 'run' | 'end' | 'move' | 'hook' | 'guest' | 'turn' | 'lock';

/** Waits are hatched. */
export const WAITS: readonly BarKind[] = ['guest', 'turn', 'lock'];

export interface Bar {
  readonly kind: BarKind;
  /** `clone`, or for a wait what it waits for. */
  readonly label: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly outcome: StepRecord['outcome'];
  /** Everything the journal has about it, including messages of the server. */
  readonly words: string;
}

export interface Mark {
  readonly kind: 'failure' | 'retry' | 'warning';
  readonly atMs: number;
  readonly words: string;
}

export interface Row {
  readonly address: string;
  readonly status: ResourceRecord['status'];
  readonly bars: readonly Bar[];
  readonly marks: readonly Mark[];
  readonly problem?: ResourceRecord['problem'];
}

export interface Rate {
  readonly fromMs: number;
  readonly toMs: number;
  readonly perSecond: number;
}

export interface Chart {
  readonly runId: string;
  readonly command: string;
  readonly outcome: RunOutcome;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly spanMs: number;
  readonly rows: readonly Row[];
  /** How many there are, if some share a row. */
  readonly resources?: number;
  /** In the order of time. */
  readonly path: readonly PathStep[];
  /** Averages between two recorded counts; empty if the journal has none. */
  readonly requests: readonly Rate[];
}

const KIND_OF_LABEL: Readonly<Partial<Record<ReturnType<typeof labelOf>, BarKind>>> = {
  clone: 'make',
  create: 'make',
  transfer: 'make',
  install: 'make',
  convert: 'make',
  start: 'run',
  restart: 'run',
  ready: 'guest',
  stop: 'end',
  destroy: 'end',
  rollback: 'end',
  move: 'move',
  migrate: 'move',
  snapshot: 'move',
  hook: 'hook',
};

/** Steps that have not ended are drawn up to `now`; by default up to the last event of the run. */
export function chartOf(run: RunRecord, now?: number): Chart {
  const start = Date.parse(run.startedAt ?? run.steps[0]?.startedAt ?? '') || 0;
  const since = (at: string) => Math.max(0, Date.parse(at) - start);
  const lastMs = Math.max(0, ...momentsAt(run).map(since));
  const spanMs = Math.max(1, run.durationMs ?? 0, lastMs, run.outcome === 'unfinished' && now ? now - start : 0);
  const path = criticalPath(run, since, spanMs);
  const notes = groupedBy(run.notes, ({ address = '' }) => address);
  const context = { ...waitContext(run, since, spanMs), run };
  return {
    runId: run.runId,
    command: run.command,
    outcome: run.outcome,
    startedAt: new Date(start).toISOString(),
    spanMs,
    rows: run.resources.map((resource) => rowOf(resource, notes.get(resource.address) ?? [], context)),
    path,
    requests: ratesOf(run, since),
  };
}

interface ChartContext extends WaitContext {
  readonly run: RunRecord;
}

function momentsAt(run: RunRecord): string[] {
  const steps = run.steps.flatMap(({ startedAt, endedAt }) =>
    endedAt === undefined ? [startedAt] : [startedAt, endedAt],
  );
  return [...steps, ...run.notes.map(({ at }) => at)];
}

function rowOf(resource: ResourceRecord, notes: readonly NoteRecord[], context: ChartContext): Row {
  const { since } = context;
  const { address, status, steps, problem } = resource;
  const bars = steps.map((step) => barOf(step, notes, context));
  const waits = waitsBefore(resource, context).map((wait) => ({
    ...wait,
    outcome: 'done' as const,
  }));
  const pauses = notes.flatMap((note) => pauseOf(note, context));
  const failures = steps.flatMap(({ endedAt, problem: failure }): Mark[] =>
    failure && endedAt ? [{ kind: 'failure', atMs: since(endedAt), words: `${failure.code}: ${failure.detail}` }] : [],
  );
  const retries = notes.flatMap(({ at, text, wait, isWarning }): Mark[] =>
    isWarning ? [{ kind: wait ? 'retry' : 'warning', atMs: since(at), words: text }] : [],
  );
  return {
    address,
    status,
    bars: [...bars, ...waits, ...pauses],
    marks: [...retries, ...failures],
    ...(problem && { problem }),
  };
}

function barOf(step: StepRecord, notes: readonly NoteRecord[], { run, since, spanMs }: ChartContext): Bar {
  const { startedAt, endedAt, durationMs, outcome, problem, tasks } = step;
  const timeoutMs = step.timeoutMs ?? tasks.at(-1)?.timeoutMs;
  const label = labelOf(step.action);
  const name = nameOfStep(step);
  const isCurrent = outcome === 'open' && run.outcome === 'unfinished';
  const bounded = (what: string) => (isCurrent && timeoutMs !== undefined ? upTo(what, timeoutMs) : what);
  const took = outcome === 'open' ? bounded('not ended') : printDuration(durationMs ?? 0);
  return {
    kind: KIND_OF_LABEL[label] ?? 'configure',
    // The colour says that it is a hook.
    label: bounded(label === 'ready' ? 'the guest' : name.replace(/^hook /, '')),
    fromMs: since(startedAt),
    toMs: endedAt === undefined ? spanMs : since(endedAt),
    outcome,
    words: [
      `${step.address}: ${name}, ${outcome === 'failed' ? 'failed after ' : ''}${took}`,
      ...(label === 'ready' ? ['waits until the guest is ready'] : []),
      ...tasks.map(({ upid }) => `task ${upid}`),
      ...(label === 'hook' ? notes.filter((note) => isFrom(note, step)).map(({ text }) => text) : []),
      ...(problem ? [`${problem.code}: ${problem.detail}`] : []),
    ].join('\n'),
  };
}

/** What a hook printed is noted between its start and its end. */
function isFrom({ at, isWarning }: NoteRecord, { startedAt, endedAt }: StepRecord): boolean {
  return !isWarning && at >= startedAt && (endedAt === undefined || at <= endedAt);
}

function pauseOf({ at, text, wait }: NoteRecord, { since, spanMs }: ChartContext): Bar[] {
  if (!wait) return [];
  const fromMs = since(at);
  return [
    {
      kind: 'lock',
      label: wait.said ?? wait.code,
      fromMs,
      toMs: Math.min(spanMs, fromMs + wait.ms),
      outcome: 'done',
      words: [text, ...(wait.said === undefined ? [] : [`the server said: ${wait.said}`])].join('\n'),
    },
  ];
}

function ratesOf({ requests }: RunRecord, since: (at: string) => number): Rate[] {
  const rates: Rate[] = [];
  let from = requests[0];
  for (const to of requests.slice(1)) {
    const [fromMs, toMs] = [since(from?.at ?? to.at), since(to.at)];
    // Counts that are close together say little about a rate.
    if (!from || toMs - fromMs < SHORTEST_RATE_MS) continue;
    rates.push({ fromMs, toMs, perSecond: ((to.sent - from.sent) * 1000) / (toMs - fromMs) });
    from = to;
  }
  return rates;
}

const SHORTEST_RATE_MS = 500;
